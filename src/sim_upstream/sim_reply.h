// SimReply: what comes out of a simulated upstream: a whole reply, or a part of a stream.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/id.h"
#include "http/headers.h"

namespace windrow::sim_upstream {

using SimRequestId = Id<struct SimRequestTag>;

// How it goes over the wire.
enum class Delivery : uint8_t {
  kWhole,
  kReset,  // half of the body, then a broken connection
  kSlow,   // in pieces, over body_time

  // Of a stream: one part of its body after the other. The head of the first counts.
  kPart,    // more will come
  kLast,    // the end
  kBroken,  // this, then a broken connection
};

struct SimReply {
  SimRequestId request;
  int status = 200;
  std::string content_type = "application/json";
  http::Headers headers;  // others
  std::string body;
  Delivery delivery = Delivery::kWhole;
  Duration body_time{};
};

// With a body of OpenAI's form.
SimReply error_reply(int status, std::string_view message, std::string_view type,
                     std::string_view code = "");

}  // namespace windrow::sim_upstream
