// Backend: whatever answers Requests. The embedded engine is one; servers elsewhere will be others.
// Everything above speaks to this interface and cannot tell them apart.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <variant>

#include "llm/answer.h"
#include "llm/request.h"

namespace windrow::llm {

// Counters since the start, and readings of this moment.
struct BackendStats {
  int64_t prompt_tokens = 0;     // prefilled, recomputation after preemption not counted
  int64_t cached_tokens = 0;     // of prompts, and not prefilled: another row had computed them
  int64_t generated_tokens = 0;  // sampled or forced
  int64_t forced_tokens = 0;     // of these, such as a structure left no choice for
  int64_t steps = 0;             // forward passes
  int64_t preemptions = 0;       // rows that lost their place and were computed again
  int64_t recomputed_tokens = 0;
  int32_t rows_running = 0;   // in the batch
  int32_t rows_waiting = 0;   // submitted, not yet in the batch
  int32_t cells_used = 0;     // KV cells that hold a token
  int32_t cells_resting = 0;  // of these, such as no running row needs
  int32_t cells_max = 0;
  uint64_t device_bytes_used = 0;  // memory of the device the model runs on; 0 when unknown
  uint64_t device_bytes_max = 0;

  // Of several backends together; what they read of a device is taken for the same device.
  BackendStats& operator+=(const BackendStats& other);
};

// Thread-safe. Outlives every request given to it: the destructor cancels what is unfinished and
// waits until every Done has returned.
class Backend {
 public:
  // Called exactly once per request, on a thread of the backend's, which waits for it: hand the
  // outcome on and return. May be called before submit returns.
  using Done = std::function<void(Outcome)>;

  virtual ~Backend() = default;

  // Does what submit would do before it needs the model (templates, tokens), on the caller's
  // thread, and leaves it in the request. For those who hold requests back: when its turn comes,
  // the request is handed over by a thread that has other things to do.
  virtual void read_ahead(Request&) {}

  // How many tokens the prompts of a request have, without answering it; a Failure as submit's.
  // On the caller's thread, without the model. Servers elsewhere count for themselves: a Failure.
  virtual std::variant<int64_t, Failure> count_prompt(const Request& request);

  // Never blocks on the model. What can be refused at once (a prompt longer than the context) is.
  virtual void submit(Request request, Done done) = 0;

  // Ends with kCancelled what has not started yet, or everything.
  virtual void cancel_waiting() = 0;
  virtual void cancel_all() = 0;

  // How many requests in flight keep it busy; more only wait inside.
  virtual int32_t in_flight_target() const = 0;

  virtual BackendStats stats() const = 0;
};

}  // namespace windrow::llm
