#include "api/calls/envelope.h"

#include <fmt/format.h>

#include <boost/json/value.hpp>
#include <charconv>
#include <cstdint>
#include <string_view>
#include <utility>

#include "base/utf8.h"
#include "llm/field_values.h"

namespace windrow::api {

namespace json = boost::json;

namespace {

using dispatch::Priority;
using llm::bad_value;
using llm::Problem;
using llm::wrong_kind;

constexpr std::string_view kPriorityHeader = "X-Windrow-Priority";
constexpr std::string_view kDeadlineHeader = "X-Windrow-Deadline-Ms";

constexpr std::string_view kAcceptedPriorities =
    "\"interactive\", \"normal\", \"batch\", or a whole number: below 0 is interactive, 0 normal, "
    "above batch";
constexpr size_t kLaneBytesMax = 128;
constexpr int64_t kDeadlineMaxMs = int64_t{7} * 24 * 3600 * 1000;

// Removes a field from the body; null counts as absent.
std::optional<json::value> take(json::object& body, std::string_view name) {
  const auto found = body.find(name);
  if (found == body.end()) return std::nullopt;
  std::optional<json::value> value;
  if (!found->value().is_null()) value = std::move(found->value());
  body.erase(found);
  return value;
}

bool generates(llm::Endpoint endpoint) {
  return endpoint == llm::Endpoint::kChatCompletions || endpoint == llm::Endpoint::kCompletions;
}

Problem read_stream(llm::Endpoint endpoint, json::object& body, Envelope& envelope) {
  if (const auto stream = take(body, "stream")) {
    if (!stream->is_bool()) return wrong_kind("stream", "true or false", *stream);
    envelope.stream = stream->get_bool();
    if (envelope.stream && !generates(endpoint)) {
      return bad_value("stream",
                       fmt::format("{} is answered as a whole; take stream out, or set it to "
                                   "false",
                                   llm::url_of(endpoint)));
    }
  }
  const auto options = take(body, "stream_options");
  if (!options) return std::nullopt;
  if (!options->is_object()) return wrong_kind("stream_options", "an object", *options);
  if (!envelope.stream) {
    return bad_value("stream_options",
                     "stream_options is for stream: true; take it out, or stream");
  }
  for (const auto& [name, value] : options->get_object()) {
    // OpenAI pads chunks to hide their length from eavesdroppers; TLS is left to do that. vLLM's
    // clients ask for the usage in each event, but read only the last.
    const std::string_view option = name;
    if (value.is_null() || option == "include_obfuscation" || option == "continuous_usage_stats")
      continue;
    if (option != "include_usage") {
      return bad_value("stream_options", "stream_options may have include_usage and nothing else");
    }
    if (!value.is_bool()) {
      return wrong_kind("stream_options.include_usage", "true or false", value);
    }
    envelope.stream_usage = value.get_bool();
  }
  return std::nullopt;
}

Priority priority_of(int64_t priority) {
  if (priority < 0) return Priority::kInteractive;
  return priority == 0 ? Priority::kNormal : Priority::kBatch;
}

std::optional<Priority> priority_named(std::string_view name) {
  if (name == "interactive") return Priority::kInteractive;
  if (name == "normal") return Priority::kNormal;
  if (name == "batch") return Priority::kBatch;
  int64_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc() || end != name.data() + name.size()) return std::nullopt;
  return priority_of(number);
}

Problem read_priority(json::object& body, Envelope& envelope) {
  const auto value = take(body, "priority");
  if (!value) return std::nullopt;
  std::optional<Priority> priority;
  if (value->is_string()) {
    priority = priority_named(value->get_string());
  } else if (value->is_number()) {
    boost::system::error_code error;
    const auto number = value->to_number<int64_t>(error);
    if (!error) priority = priority_of(number);
  }
  if (!priority)
    return bad_value("priority", fmt::format("priority must be {}", kAcceptedPriorities));
  envelope.priority = *priority;
  return std::nullopt;
}

Problem read_tier(json::object& body, Envelope& envelope) {
  const auto tier = take(body, "service_tier");
  if (!tier) return std::nullopt;
  const std::string_view name = tier->is_string() ? std::string_view(tier->get_string()) : "";
  if (name == "flex") {
    envelope.priority = Priority::kBatch;
  } else if (name == "priority" || name == "fast") {
    envelope.priority = Priority::kInteractive;
  } else if (name != "auto" && name != "default" && name != "scale") {
    return bad_value("service_tier",
                     "service_tier must be \"auto\", \"default\", \"flex\" or \"priority\"");
  }
  envelope.names_tier = true;
  return std::nullopt;
}

Problem read_headers(const http::Headers& headers, Envelope& envelope) {
  if (const auto name = headers.get(kPriorityHeader)) {
    const std::optional<Priority> priority = priority_named(*name);
    if (!priority)
      return bad_value(kPriorityHeader,
                       fmt::format("{} must be {}", kPriorityHeader, kAcceptedPriorities));
    envelope.priority = *priority;
  }
  if (const auto lane = headers.get(kLaneHeader)) {
    if (lane->size() > kLaneBytesMax || utf8_repair(*lane) != *lane) {
      return bad_value(kLaneHeader, fmt::format("{} must be a text of at most {} bytes",
                                                kLaneHeader, kLaneBytesMax));
    }
    envelope.lane = *lane;
  }
  if (const auto deadline = headers.get(kDeadlineHeader)) {
    int64_t ms = 0;
    const auto [end, error] = std::from_chars(deadline->begin(), deadline->end(), ms);
    if (error != std::errc() || end != deadline->end() || ms < 1 || ms > kDeadlineMaxMs) {
      return bad_value(
          kDeadlineHeader,
          fmt::format("{} must be a whole number from 1 to {}: the milliseconds in which "
                      "the answer is of use",
                      kDeadlineHeader, kDeadlineMaxMs));
    }
    envelope.deadline = std::chrono::milliseconds(ms);
  }
  return std::nullopt;
}

}  // namespace

http::Headers envelope_headers(const http::Headers& all) {
  constexpr std::string_view kPrefix = "x-windrow-";
  http::Headers wanted;
  for (const http::Headers::Field field : all) {
    if (field.name.size() > kPrefix.size() &&
        http::same_ignoring_case(field.name.substr(0, kPrefix.size()), kPrefix)) {
      wanted.add(field.name, field.value);
    }
  }
  return wanted;
}

std::string_view tier_name(Priority priority) {
  switch (priority) {
    case Priority::kInteractive:
      return "priority";
    case Priority::kNormal:
      return "default";
    case Priority::kBatch:
      break;
  }
  return "flex";
}

std::variant<Envelope, llm::Failure> open_envelope(llm::Endpoint endpoint, json::object& body,
                                                   const http::Headers& headers) {
  Envelope envelope;
  if (Problem problem = read_stream(endpoint, body, envelope)) return *std::move(problem);
  if (Problem problem = read_tier(body, envelope)) return *std::move(problem);
  if (Problem problem = read_priority(body, envelope)) return *std::move(problem);
  if (Problem problem = read_headers(headers, envelope)) return *std::move(problem);
  return envelope;
}

}  // namespace windrow::api
