#include "llm/question.h"

#include <algorithm>
#include <array>
#include <boost/json/value.hpp>
#include <string>

#include "json/members.h"
#include "llm/raw_request.h"
#include "llm/request_json.h"

namespace windrow::llm {
namespace {

// Whether chance has a part in its answer.
bool is_drawn(const Request& request) {
  const bool generates =
      request.endpoint == Endpoint::kChatCompletions || request.endpoint == Endpoint::kCompletions;
  return generates && request.sampling.temperature > 0;
}

bool is_of_the_treatment(std::string_view key) {
  constexpr std::array<std::string_view, 4> kNames = {"stream", "stream_options", "priority",
                                                      "service_tier"};
  return std::ranges::any_of(kNames, [&](std::string_view name) { return json_key_is(key, name); });
}

}  // namespace

bool has_seed(const boost::json::object& body) {
  const boost::json::value* seed = body.if_contains("seed");
  return seed != nullptr && !seed->is_null();
}

std::optional<Hash128> question_of(const Request& request, std::string_view body, bool seeded) {
  if (!request.raw.empty()) {
    const std::optional<std::string> key = repeat_key(request);
    return key ? std::optional(hash128(*key)) : std::nullopt;
  }
  if (is_drawn(request) && !seeded) return std::nullopt;
  std::string text(url_of(request.endpoint));
  text.reserve(text.size() + body.size());
  for (const JsonMember& member : json_members(body)) {
    if (is_of_the_treatment(member.key)) continue;
    text += ',';
    text += member.key;
    text += ':';
    append_json_without_space(member.value, text);
  }
  return hash128(text);
}

}  // namespace windrow::llm
