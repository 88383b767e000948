// Backend: answers Requests. The embedded engine is one, an upstream server another; everything
// above speaks to this interface and cannot tell them apart.
//
// A Request is the question alone. It does not change once it is submitted, so every attempt to
// have it answered (a retry, another upstream, several equal requests that share one answer) holds
// the same object and nothing is copied. A BackendCall is one attempt: the question, and beside it
// what depends on who asks and when. That is not part of the question, because two equal questions
// may differ in it: who hears the stream, how urgent it is, whether the answer is still wanted.
//
// There is one way to cancel: the two tokens of a call. They work wherever the call is, and from
// before it is submitted: one that is stopped already when the call comes ends the call at once. So
// there is no moment at which a cancellation could miss a call.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "llm/answer.h"
#include "llm/prefix_hold.h"
#include "llm/priority.h"
#include "llm/request.h"

namespace windrow::llm {

class AnswerShare;
class ReplySink;
class StreamSink;

// Counters since the start, and readings of this moment.
struct BackendStats {
  int64_t prompt_tokens = 0;     // prefilled, recomputation after preemption not counted
  int64_t cached_tokens = 0;     // of prompts: attached from the prefix cache, not prefilled
  int64_t generated_tokens = 0;  // sampled or forced
  int64_t forced_tokens = 0;     // of these, appended because the structure allowed nothing else
  int64_t steps = 0;             // forward passes
  int64_t preemptions = 0;       // rows that lost their cells and were computed again
  int64_t recomputed_tokens = 0;
  int32_t rows_running = 0;  // in the batch
  int32_t rows_waiting = 0;  // submitted, not yet in the batch
  int32_t cells_used = 0;    // KV cells that hold a token
  int32_t cells_cached = 0;  // of these, cells of the prefix cache that no running row uses
  int32_t cells_held = 0;    // of these, cells of prefixes that are held (PrefixHold)
  int32_t cells_max = 0;
  uint64_t device_bytes_used = 0;  // memory of the device the model runs on; 0 when unknown
  uint64_t device_bytes_max = 0;

  // Adds the stats of another backend. Readings of the device are taken for the same device.
  BackendStats& operator+=(const BackendStats& other) {
    prompt_tokens += other.prompt_tokens;
    cached_tokens += other.cached_tokens;
    generated_tokens += other.generated_tokens;
    forced_tokens += other.forced_tokens;
    steps += other.steps;
    preemptions += other.preemptions;
    recomputed_tokens += other.recomputed_tokens;
    rows_running += other.rows_running;
    rows_waiting += other.rows_waiting;
    cells_used += other.cells_used;
    cells_cached += other.cells_cached;
    cells_held += other.cells_held;
    cells_max += other.cells_max;
    device_bytes_used = std::max(device_bytes_used, other.device_bytes_used);
    device_bytes_max = std::max(device_bytes_max, other.device_bytes_max);
    return *this;
  }
};

// What a backend computed for a request ahead of its turn (Backend::read_ahead). Each backend has
// its own subclass.
class ReadAhead {
 public:
  virtual ~ReadAhead() = default;
};

// For models that are loaded on demand: how long a call may wait for its model, and whether it
// waits at the moment. The caller sets `until` before it submits; the backend sets `waits`.
struct LoadWait {
  std::optional<TimePoint> until;  // absent: as long as the load takes
  std::atomic<bool> waits = false;
};

struct BackendCall {
  std::shared_ptr<const Request> request;  // never null

  Priority priority = Priority::kNormal;        // among calls that wait for the same model
  std::shared_ptr<StreamSink> listener;         // gets the deltas; null: only the whole is wanted
  std::shared_ptr<ReplySink> reply_sink;        // of a verbatim request: takes the reply's body
  std::shared_ptr<const ReadAhead> read_ahead;  // what read_ahead returned; null: nothing
  std::shared_ptr<AnswerShare> answer_share;    // counts the answer's memory; null: not counted
  std::shared_ptr<LoadWait> load_wait;          // null: waits for its model as long as that takes
  uint64_t trace_tag = 0;                       // names its rows in RowTrace; 0: no name

  // Stopped when the answer is not wanted any more. `withdrawn` ends a call that has not started:
  // one that waits for a model, a grammar, a slot, its first forward pass. `unwanted` ends it
  // wherever it is: rows leave the batch before the next forward pass, a call to an upstream is
  // broken off. Either way its Done gets kCancelled, soon, unless it ended otherwise meanwhile.
  std::stop_token withdrawn;
  std::stop_token unwanted;

  // Whether a call that has not started must end now.
  bool is_cancelled() const { return withdrawn.stop_requested() || unwanted.stop_requested(); }
};

// A call that asks `request` and nothing else: no stream, and it is never cancelled.
inline BackendCall plain_call(Request request) {
  return {.request = std::make_shared<const Request>(std::move(request))};
}

// Thread-safe. Outlives every call of submit; the destructor cancels what is unfinished and waits
// until every Done has returned.
class Backend {
 public:
  // Called exactly once per call, on a thread of the backend's, which waits for it: pass the
  // outcome on and return. It may also be called on the thread that submits, before submit returns,
  // and on the one that stops a token of the call, before request_stop returns; so do neither with
  // a lock held that Done takes.
  using Done = std::function<void(Outcome)>;

  virtual ~Backend() = default;

  // Does on the caller's thread what submit would do before it needs the model (templates, tokens),
  // for BackendCall::read_ahead. Null: nothing is done ahead. Useful where the request is queued
  // first and is submitted by a thread that should not be held up.
  virtual std::shared_ptr<const ReadAhead> read_ahead(const Request& /*request*/) {
    return nullptr;
  }

  // How many tokens the prompts of a request have, without answering it; a Failure as submit's.
  // Runs on the caller's thread and needs no model. A Failure for upstreams, which count
  // themselves.
  virtual std::variant<int64_t, Failure> count_prompt(const Request& /*request*/) {
    return Failure{.code = "unsupported_by_model",
                   .message =
                       "tokens are not counted here for this model: a server elsewhere has "
                       "it; ask that server",
                   .param = "model"};
  }

  // Keeps what is computed of this prefix, and what will be, in the backend's prefix cache for as
  // long as the hold exists. Null where nothing is kept: an upstream, a model that is not loaded,
  // or no tokens.
  virtual std::unique_ptr<PrefixHold> hold(std::vector<int32_t> /*tokens*/) { return nullptr; }

  // Never blocks on the model. A request that can be refused at once (a prompt longer than the
  // context) is refused before submit returns.
  virtual void submit(BackendCall call, Done done) = 0;

  // How many calls in flight keep it busy; more only wait inside.
  virtual int32_t in_flight_target() const = 0;

  virtual BackendStats stats() const = 0;
};

}  // namespace windrow::llm
