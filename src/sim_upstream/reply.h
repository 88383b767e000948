// Replies of a simulated upstream, and their bodies in the forms of OpenAI's API. Pure.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/id.h"
#include "http/headers.h"
#include "sim_upstream/long_body.h"

namespace windrow::sim_upstream {

using SimRequestId = Id<struct SimRequestTag>;

// How a reply goes over the wire.
enum class Delivery : uint8_t {
  kWhole,
  kReset,  // half of the body, then a broken connection
  kSlow,   // in pieces, over body_time

  // Parts of a stream's body. The head of the first one is the stream's.
  kPart,    // more follow
  kLast,    // the end
  kBroken,  // followed by a broken connection
};

struct SimReply {
  SimRequestId request;
  int status = 200;
  std::string content_type = "application/json";
  http::Headers headers;  // besides Content-Type
  std::string body;
  std::shared_ptr<LongBody> more;  // what follows the body; null: nothing
  Delivery delivery = Delivery::kWhole;
  Duration body_time{};
};

// Makes `body` the reply's: whole, unless it has rows, which follow.
void set_body(LongBody body, SimReply& reply);

// A reply with error_body().
SimReply error_reply(int status, std::string_view message, std::string_view type,
                     std::string_view code = "");

struct Usage {
  int64_t prompt_tokens = 0;
  int64_t cached_tokens = 0;  // of prompt_tokens
  int64_t answer_tokens = 0;
};

struct Choice {
  std::string text;
  bool cut = false;  // ended by the limit of tokens
};

// A text as a JSON string.
std::string in_quotes(std::string_view text);

struct ReplyFacts {
  uint64_t number = 0;  // part of the id
  int64_t created_s = 0;
  std::string_view model;
  Usage usage;
  bool null_content = false;  // a chat's message has none
};

// The value of the member "usage".
boost::json::object usage_json(const Usage& usage);

std::string chat_body(const ReplyFacts& facts, std::span<const Choice> choices);
std::string completion_body(const ReplyFacts& facts, std::span<const Choice> choices);
std::string embedding_body(const ReplyFacts& facts, std::span<const std::vector<float>> vectors,
                           bool base64);

// {"error": {"message", "type", "param", "code"}}; empty code: null.
std::string error_body(std::string_view message, std::string_view type, std::string_view code);

}  // namespace windrow::sim_upstream
