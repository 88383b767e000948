#include "llm/body_reader.h"

#include <algorithm>
#include <array>
#include <boost/json/value.hpp>
#include <string>
#include <utility>

#include "json/members.h"
#include "llm/raw_body.h"
#include "llm/request_json.h"

namespace windrow::llm {

namespace json = boost::json;

namespace {

// Whether chance has a part in its answer.
bool is_drawn(const Request& request) {
  const bool generates =
      request.endpoint == Endpoint::kChatCompletions || request.endpoint == Endpoint::kCompletions;
  return generates && request.sampling.temperature > 0;
}

bool is_about_delivery(std::string_view key) {
  constexpr std::array<std::string_view, 4> kNames = {"stream", "stream_options", "priority",
                                                      "service_tier"};
  return std::ranges::any_of(kNames, [&](std::string_view name) { return json_key_is(key, name); });
}

}  // namespace

std::vector<std::string> complete_body(Endpoint endpoint, const BodyRules& rules,
                                       json::object& body) {
  std::vector<std::string> removed;
  if (rules.unknown_fields == UnknownFields::kIgnore) removed = take_unknown_fields(endpoint, body);
  for (const auto& [name, value] : rules.defaults) {
    // A default for another endpoint does not concern this body.
    if (find_rule(endpoint, name) == nullptr) continue;
    json::value& field = body[name];
    if (field.is_null()) field = value;
  }
  return removed;
}

std::variant<ReadBody, Failure> read_body(Endpoint endpoint, const BodyRules& rules,
                                          const json::object& body, uint64_t own_seed) {
  auto parsed = parse_request(endpoint, body, rules.seed != 0 ? rules.seed : own_seed);
  if (auto* failure = std::get_if<Failure>(&parsed)) return std::move(*failure);
  return ReadBody{.request = std::move(std::get<Request>(parsed)),
                  .seeded = rules.seed != 0 || has_seed(body)};
}

bool has_seed(const boost::json::object& body) {
  const boost::json::value* seed = body.if_contains("seed");
  return seed != nullptr && !seed->is_null();
}

std::optional<Hash128> question_of(const Request& request, std::string_view body, bool seeded) {
  if (request.verbatim) return std::nullopt;
  if (!request.raw.empty()) {
    const std::optional<std::string> key = repeat_key(request);
    return key ? std::optional(hash128(*key)) : std::nullopt;
  }
  if (is_drawn(request) && !seeded) return std::nullopt;
  std::string text(url_of(request.endpoint));
  text.reserve(text.size() + body.size());
  for (const JsonMember& member : json_members(body)) {
    if (is_about_delivery(member.key)) continue;
    text += ',';
    text += member.key;
    text += ':';
    append_json_without_space(member.value, text);
  }
  return hash128(text);
}

}  // namespace windrow::llm
