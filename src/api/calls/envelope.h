// Envelope: what a client says about how it wants to be treated, apart from what it asks:
// streaming, priority, lane, deadline. Pure.
//
//   body     stream, stream_options.include_usage
//            priority         "interactive", "normal", "batch"; a number as vLLM has it: lower
//                             goes first, below 0 interactive, 0 normal, above batch
//            service_tier     "priority" interactive, "auto" and "default" normal, "flex" batch
//   headers  X-Windrow-Priority, X-Windrow-Lane, X-Windrow-Deadline-Ms; they win over the body, for
//            clients that cannot add fields
#pragma once

#include <boost/json/object.hpp>
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
  std::string lane;                  // empty: none; one of another key is another lane
  std::optional<Duration> deadline;  // from now on

  bool names_tier = false;  // by service_tier: the reply says which one it was
};

// Those of all headers that it reads.
http::Headers envelope_headers(const http::Headers& all);

// OpenAI's name for how a request was treated.
std::string_view tier_name(dispatch::Priority priority);

// Takes those fields out of `body`, so that the rest is what a row of a file would have. A Failure
// names the field or header at fault. For a model elsewhere (`raw`) the body is not used after
// this.
std::variant<Envelope, llm::Failure> open_envelope(llm::Endpoint endpoint,
                                                   boost::json::object& body,
                                                   const http::Headers& headers);

}  // namespace windrow::api
