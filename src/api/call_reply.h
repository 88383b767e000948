// The whole answer of a call as the body of its reply. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "api/call_reader.h"
#include "llm/answer.h"

namespace windrow::api {

// What of a call its reply is made of.
struct ReplyFacts {
  llm::Endpoint endpoint = llm::Endpoint::kChatCompletions;
  std::string id;  // without the prefix of the endpoint
  std::string model;
  int64_t created_unix_s = 0;
  std::string service_tier;        // empty: none
  std::string system_fingerprint;  // likewise
  bool tei = false;
  bool raw_scores = false;
};

std::string reply_body(const ReplyFacts& facts, const llm::Answer& answer);

}  // namespace windrow::api
