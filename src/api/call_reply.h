// The whole answer of a call as the body of its reply. Pure.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "api/call_reader.h"
#include "api/dialects/answer_stream.h"
#include "api/dialects/chat_facts.h"
#include "llm/answer.h"

namespace windrow::api {

// What of a call its reply is made of.
struct ReplyFacts {
  llm::Endpoint endpoint = llm::Endpoint::kChatCompletions;
  Dialect dialect = Dialect::kOwn;
  std::string id;  // without its prefix
  std::string model;
  int64_t created_unix_s = 0;
  std::string service_tier;        // empty: none
  std::string system_fingerprint;  // likewise
  bool tei = false;
  bool raw_scores = false;

  // Of another dialect.
  std::string request_id;
  bool logprobs = false;
  std::string echo;  // ChatFacts::echo
};

// Of another dialect than the endpoint's own the answer is in our form (dialects/own_form.h).
std::string reply_body(const ReplyFacts& facts, const llm::Answer& answer);

// Of another dialect than the endpoint's own.
std::unique_ptr<AnswerStream> stream_in_dialect(const ReplyFacts& facts);

}  // namespace windrow::api
