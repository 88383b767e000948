// CallRecord: what is logged, counted and charged for one call of a model. When it is closed, or
// destroyed, the RequestContext ends, and with it the request's line in the log, its counters and
// its use of the key's limits are written, once.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/calls/live_requests.h"
#include "api/keys/request_guard.h"
#include "base/clock.h"
#include "dispatch/work_item.h"
#include "http/headers.h"
#include "llm/answer.h"
#include "llm/stream_sink.h"

namespace windrow::api {

// What the body of a call was found to ask for.
struct CallFacts {
  std::string model;
  dispatch::Priority priority = dispatch::Priority::kNormal;
  bool stream = false;
  bool raw = false;            // an upstream answers it
  int32_t ignored_tokens = 0;  // of logit_bias, not in the model's vocabulary
  std::string ignored_fields;  // for X-Windrow-Ignored-Fields; empty: none
};

class CallRecord {
 public:
  // `clock` outlives it.
  CallRecord(RequestContext context, const Clock& clock);

  // --- on the worker that reads the body ---

  // The body, once it is unpacked, for logs with prompts.
  void log_body(std::string_view body);

  // Takes the expected tokens from the key's limits, and shows the request as live. A failure: the
  // key has no tokens left.
  std::optional<llm::Failure> admit(int64_t tokens, std::unique_ptr<LiveRequests::Ticket> ticket);

  // --- on the loop's thread ---

  void note_facts(CallFacts facts);

  // `first_at`: when the first delta arrived.
  void note_deltas(const std::vector<llm::Delta>& deltas, std::optional<TimePoint> first_at);

  // `was_sent`: a backend was asked.
  void note_outcome(const llm::Outcome& outcome, bool was_sent);

  // The headers that all replies have, and those about this call.
  void add_headers(http::Headers& headers) const;

  dispatch::Priority priority() const;

  // `cancelled`: the request was cancelled before its end. Nothing may be noted afterwards.
  void close(int status, const std::string& code, bool cancelled);
  bool is_closed() const { return !context_; }

 private:
  const Clock& clock_;
  const TimePoint arrived_at_;

  // The loop's thread:
  int32_t deltas_noted_ = 0;
  bool raw_ = false;
  bool was_sent_ = false;
  int32_t ignored_tokens_ = 0;
  std::string ignored_fields_;

  // The loop's thread and the worker's:
  mutable std::mutex mutex_;
  std::optional<RequestContext> context_;         // until it is closed
  std::unique_ptr<LiveRequests::Ticket> ticket_;  // null until admit()
};

}  // namespace windrow::api
