// Which failures are retried, and when. Pure; any thread.
//
// A refusal for load (429, 503) costs the row a back-off and no attempt, and only patience ends it;
// whether other rows wait too is decided by refusal_watch.h and quota.h. An unreachable server
// costs no attempt either: otherwise the rows that probe it would pay for it. Nor does a shortage
// of files in this process, which ends when another call does. Other transient failures use up
// attempts and wait an exponentially growing time, of which a random part is taken ("full jitter",
// Brooker, Exponential Backoff And Jitter, 2015), so that rows that failed together do not return
// together.
//
// Where clients wait for the answer (`refusal_patience`), a refusal is passed on to them after a
// few seconds, or at once where the server named a later time. It pauses no other row there, so the
// row obeys the server's time by itself.
#pragma once

#include <cstdint>
#include <optional>

#include "base/clock.h"
#include "base/random.h"

namespace windrow::dispatch {

struct RetryOptions {
  int32_t attempts_max = 3;
  std::optional<int32_t> sends_max;  // WorkItem::attempts_max: in place of it, refusals counted too
  Duration backoff_base{};  // the most before the first retry; 0: at once, as for a model in this
                            // process
  Duration backoff_max = std::chrono::seconds(60);
  Duration overload_patience = std::chrono::minutes(30);  // since its first refusal

  // Replaces overload_patience where clients wait.
  std::optional<Duration> refusal_patience;
};

enum class Fault : uint8_t {
  kOverloaded,    // refused for load; nothing is wrong with the row
  kUnreached,     // no server was reached: the request never left this machine
  kShortOfFiles,  // this process could open no connection: the request never left this machine
  kTransient,     // timeouts, resets, 5xx, an answer that cannot be used
  kRequest,       // the row cannot be answered as it is
  kCancelled,
  kBackend,  // nothing can be answered any more
};

// The attempts at a row so far.
struct Attempts {
  int32_t used = 0;  // that were not refused for load, the present one included
  int32_t refused = 0;
  int32_t short_of_files = 0;  // no server saw these, so they are not reported as attempts
  std::optional<TimePoint> refused_since;  // or short of files
};

struct RetryDecision {
  bool again = false;
  TimePoint at{};  // not before
};

// Counts the failure in `attempts`. `retry_after`: the time that the server named, which is obeyed
// whatever the fault.
RetryDecision decide_retry(const RetryOptions& options, Fault fault,
                           std::optional<Duration> retry_after, TimePoint now, Attempts& attempts,
                           Random& random);

// base * 2^(number - 1), no more than `max`, and of that a part drawn from [0, 1).
Duration full_jitter(Duration base, Duration max, int32_t number, Random& random);

}  // namespace windrow::dispatch
