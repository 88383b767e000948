// What the writers of answers have in common: the facts of a call that replies and streams repeat,
// and AnswerStream, which turns the deltas of an answer into server-sent events, or lines, in the
// shape of one API. Pure.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "api/wire/dialect.h"
#include "base/clock.h"
#include "llm/answer.h"
#include "llm/request.h"
#include "llm/stream_sink.h"

namespace windrow::api {

struct ReplyFacts {
  llm::Endpoint endpoint = llm::Endpoint::kChatCompletions;
  Dialect dialect = Dialect::kOwn;
  std::string id;  // without its prefix
  std::string model;
  int64_t created_unix_s = 0;
  std::string service_tier;        // empty: none
  std::string system_fingerprint;  // empty: none

  // Rankings:
  bool tei = false;
  bool raw_scores = false;
  bool unit_scores = false;  // from 0 to 1

  // Other dialects than the endpoint's own:
  std::string request_id;
  bool logprobs = false;  // kResponses: they are listed

  // Ollama: for how long the answer took.
  const Clock* clock = nullptr;
  TimePoint arrived_at{};

  // kResponses: the members of the request that the answer repeats, as members of a JSON object,
  // each with a comma behind it.
  std::string echo;
};

// Each method appends events. After end() or fail() nothing more is appended.
class AnswerStream {
 public:
  virtual ~AnswerStream() = default;

  virtual void emit(const llm::Delta& delta, std::string& events) = 0;

  // What no delta has had, and the end of the stream.
  virtual void end(const llm::Answer& answer, std::string& events) = 0;

  virtual void fail(const llm::Failure& failure, std::string& events) = 0;

  // The Content-Type of the reply.
  virtual std::string_view content_type() const { return "text/event-stream; charset=utf-8"; }

  // Something that clients skip, for proxies that close quiet connections.
  virtual void keep_alive(std::string& events) = 0;
};

}  // namespace windrow::api
