// The request log: a line of JSON for each request that has ended, with its key's name, endpoint,
// status and times. It never has a key, and has prompts and answers only if the operator asked for
// them. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/wire/dialect.h"
#include "base/clock.h"
#include "dispatch/work_item.h"
#include "llm/answer.h"
#include "llm/request.h"

namespace windrow::api {

// What is known about a request. The first part is known at its start; the second is filled later.
struct RequestRecord {
  std::string id;    // "req_...", the reply's X-Request-Id
  std::string key;   // the name of its API key; empty: none
  std::string peer;  // the client's address; empty: unknown
  std::string method;
  std::string path;  // without the query
  TimePoint arrived_at{};
  int64_t arrived_unix_s = 0;
  uint64_t body_bytes = 0;

  std::string call;                       // "chatcmpl-..."; empty: it is no call of a model
  std::optional<llm::Endpoint> endpoint;  // of a call
  Dialect dialect = Dialect::kOwn;        // of a call
  std::string model;
  dispatch::Priority priority = dispatch::Priority::kNormal;
  bool stream = false;
  int status = 0;    // 499: the client left before its answer was complete
  std::string code;  // the error's; empty: none
  llm::Usage usage;
  bool cut_off = false;           // cancelled at an upstream; its usage is unknown
  std::optional<Duration> queue;  // before the prefill; nullopt: it never began
  std::optional<Duration> ttft;   // from arrival to the first token; nullopt: there was none

  // With logged prompts: the body, and the text of each choice, as shown_in_log() has them.
  std::string body;
  std::vector<std::string> answers;
};

// How much of a body, or of all answers of a request, is logged.
constexpr size_t kLoggedBytesMax = size_t{64} << 10;

// The text, or its beginning and its length.
std::string shown_in_log(std::string_view text);

// Appends to the logged text of a choice, up to kLoggedBytesMax.
void add_answer(RequestRecord& record, size_t choice, std::string_view text);

// Replaces the logged texts by those of the answer.
void set_answers(RequestRecord& record, const llm::Answer& answer);

// The line for a client that was disconnected because it did not read its answer while other
// answers needed the memory. Without a newline. Its request has another line, which may precede it.
std::string slow_reader_line(int64_t unix_s, std::string_view peer, size_t unsent_bytes,
                             Duration quiet);

// The line for a request, without a newline.
std::string log_line(const RequestRecord& record, Duration duration);

}  // namespace windrow::api
