// RequestLog: a line of JSON for each request that has ended: who asked what kind of thing, how it
// went and how long it took. Never a key; what was asked only when the server was told so. Pure.
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

// What is known of a request. The first part is there from its beginning; the second is filled on
// the way by whoever knows.
struct RequestRecord {
  std::string id;    // "req_..." as X-Request-Id of the reply
  std::string key;   // the name of its key; empty: none
  std::string peer;  // the address it came from; empty: unknown
  std::string method;
  std::string path;  // without the query
  TimePoint arrived_at{};
  int64_t arrived_unix_s = 0;
  uint64_t body_bytes = 0;

  std::string call;                       // "chatcmpl-..." where there is one
  std::optional<llm::Endpoint> endpoint;  // nothing: it was no call of a model
  Dialect dialect = Dialect::kOwn;        // in which it was asked
  std::string model;
  dispatch::Priority priority = dispatch::Priority::kNormal;
  bool stream = false;
  int status = 0;    // 499: the client left before its answer was complete
  std::string code;  // of the error; empty: none
  llm::Usage usage;
  bool cut_off = false;           // it may have been at work, and nobody knows what it used
  std::optional<Duration> queue;  // llm::Timings; nothing: it never began
  std::optional<Duration> ttft;   // from arrival to the first token; nothing: there was none

  // Only where prompts are logged: the body, and what was said of each choice; shown_in_log.
  std::string body;
  std::vector<std::string> answers;
};

// So much of a text, or of all answers of a request, is logged.
constexpr size_t kLoggedBytesMax = size_t{64} << 10;

// The text, or its beginning and how long it is.
std::string shown_in_log(std::string_view text);

// Puts more to what was said of a choice, as far as there is room.
void add_answer(RequestRecord& record, size_t choice, std::string_view text);

// What an answer says, in place of what was put there before.
void set_answers(RequestRecord& record, const llm::Answer& answer);

// A client that was dropped because it took nothing of its answer while others needed the room; one
// line without its end. Its request has a line of its own, which may stand before it.
std::string slow_reader_line(int64_t unix_s, std::string_view peer, size_t unsent_bytes,
                             Duration quiet);

// One line without its end.
std::string log_line(const RequestRecord& record, Duration duration);

}  // namespace windrow::api
