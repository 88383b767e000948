// The whole answer of a call as the body of its reply. Pure.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "api/calls/call_reader.h"
#include "api/wire/answer_stream.h"
#include "api/wire/chat_facts.h"
#include "api/wire/responses_stream.h"
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
  bool unit_scores = false;  // of a ranking: from 0 to 1

  // Of another dialect.
  std::string request_id;
  bool logprobs = false;
  const Clock* clock = nullptr;
  TimePoint arrived_at{};
  std::string echo;  // ChatFacts::echo
};

// Names of a body's fields, as a header lists them: "tone, a%20b". Bytes that a header cannot have
// are escaped; of very many, or very long ones, the first are named and "..." stands for the rest.
std::string header_list(std::span<const std::string> names);

// Of another dialect than the endpoint's own the answer is in our form (wire/own_form.h).
std::string reply_body(const ReplyFacts& facts, const llm::Answer& answer);

// The ids of the items of a response's output, as reply_body writes it.
std::vector<std::string> output_ids(const ReplyFacts& facts, const llm::Answer& answer);

// Of another dialect than the endpoint's own. `keep` hears a response that is whole.
std::unique_ptr<AnswerStream> stream_in_dialect(const ReplyFacts& facts, KeepResponse keep = {});

}  // namespace windrow::api
