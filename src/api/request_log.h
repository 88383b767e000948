// RequestLog: a line of JSON for each request that has ended: who asked what kind of thing, how it
// went and how long it took. Never a key; what was asked only when the server was told so. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "api/dialects/dialect.h"
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
  dispatch::Urgency urgency = dispatch::Urgency::kNormal;
  bool stream = false;
  int status = 0;    // 499: the client left before its answer was complete
  std::string code;  // of the error; empty: none
  llm::Usage usage;
  bool cut_off = false;           // it may have been at work, and nobody knows what it used
  std::optional<Duration> queue;  // llm::Timings; nothing: it never began
  std::optional<Duration> ttft;   // from arrival to the first token; nothing: there was none
  std::string body;               // only where prompts are logged
};

// One line without its end.
std::string log_line(const RequestRecord& record, Duration duration);

}  // namespace windrow::api
