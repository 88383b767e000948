// Envelope: how a client wants its request treated, apart from what it asks: streaming, priority,
// lane, deadline. Pure.
//
//   body     stream, stream_options.include_usage
//            priority         "interactive", "normal", "batch"; or a number as in vLLM: lower goes
//                             first, below 0 interactive, 0 normal, above batch
//            service_tier     "priority" interactive, "auto" and "default" normal, "flex" batch
//   headers  X-Windrow-Priority, X-Windrow-Lane, X-Windrow-Deadline-Ms; they take precedence over
//            the body, for clients that cannot add fields
#pragma once

#include <array>
#include <boost/json/object.hpp>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/clock.h"
#include "dispatch/work_item.h"
#include "http/headers.h"
#include "llm/answer.h"
#include "llm/request_json.h"

namespace windrow::api {

constexpr std::string_view kLaneHeader = "X-Windrow-Lane";

struct Envelope {
  bool stream = false;
  bool stream_usage = false;  // a last event with the usage
  dispatch::Priority priority = dispatch::Priority::kNormal;
  std::string lane;                  // empty: none. Each key has lanes of its own
  std::optional<Duration> deadline;  // from the arrival on

  bool names_tier = false;  // service_tier was given, so the reply names the tier that applied
};

// The headers that open_envelope() reads.
http::Headers envelope_headers(const http::Headers& all);

// OpenAI's service_tier for a priority.
std::string_view tier_name(dispatch::Priority priority);

// Removes the envelope's fields from `body`, which then is what a row of a file would have. A
// failure, 400, names the field or header at fault.
std::variant<Envelope, llm::Failure> open_envelope(llm::Endpoint endpoint,
                                                   boost::json::object& body,
                                                   const http::Headers& headers);

// The names of priorities in bodies, key files, logs and metrics, in the order of
// dispatch::Priority.
constexpr std::array<std::string_view, 3> kPriorityNames = {"interactive", "normal", "batch"};

constexpr std::string_view priority_text(dispatch::Priority priority) {
  return kPriorityNames.at(static_cast<size_t>(priority));
}

constexpr std::optional<dispatch::Priority> parse_priority(std::string_view text) {
  for (size_t i = 0; i < kPriorityNames.size(); ++i) {
    if (text == kPriorityNames.at(i)) return static_cast<dispatch::Priority>(i);
  }
  return std::nullopt;
}

}  // namespace windrow::api
