// Which failures are tried again, and when. Pure.
//
// A refusal because of load (429, 503) costs the row a back-off and no attempt, and only patience
// ends it; whether other rows wait too is decided by refusal_watch.h and quota.h. A server that is
// away costs no attempt either: otherwise those rows that look whether it is back would pay for it.
// Nor does a shortage of files in this process, which ends when another call does.
// Other passing failures use up attempts and wait an exponentially growing time of which a random
// part is taken ("full jitter", Brooker, Exponential Backoff And Jitter, 2015), so that rows that
// failed together do not come back together.
//
// Where people wait for the answer (`refusal_patience`), a refusal is theirs to hear: a few seconds
// of it, and none of waiting for a time the server named that is later. It holds up nobody else
// there, so the row keeps to the server's word by itself.
#pragma once

#include <cstdint>
#include <optional>

#include "base/clock.h"
#include "base/random.h"

namespace windrow::dispatch {

struct RetryOptions {
  int32_t attempts_max = 3;
  Duration
      backoff_base{};  // of the first retry, at most; 0: at once, as for a model in this process
  Duration backoff_max = std::chrono::seconds(60);
  Duration overload_patience = std::chrono::minutes(30);  // since its first refusal

  // Instead of it, of refusals for load where people wait.
  std::optional<Duration> refusal_patience;
};

enum class Fault : uint8_t {
  kOverloaded,    // it has too much to do; nothing is wrong with the row
  kUnreached,     // there was nobody to give it to: it never left this machine
  kShortOfFiles,  // this process could open no connection for it: it never left this machine
  kTransient,     // timeouts, resets, 5xx, an answer that cannot be used
  kRequest,       // the row cannot be answered as it is
  kCancelled,
  kBackend,  // nothing can be answered any more
};

// The attempts at a row so far.
struct Attempts {
  int32_t used = 0;  // those that were not refused for load, the present one included
  int32_t refused = 0;
  int32_t short_of_files = 0;  // of these nobody heard, so they are not counted among the tries
  std::optional<TimePoint> refused_since;  // or short of files
};

struct RetryDecision {
  bool again = false;
  TimePoint at{};  // not before
};

// Counts the failure in `attempts`. `retry_after` is the server's own word for how long it wants to
// be left alone; it is kept to, whatever the class.
RetryDecision decide_retry(const RetryOptions& options, Fault fault,
                           std::optional<Duration> retry_after, TimePoint now, Attempts& attempts,
                           Random& random);

// base * 2^(number - 1), no more than `max`, and of that a part drawn from [0, 1).
Duration full_jitter(Duration base, Duration max, int32_t number, Random& random);

}  // namespace windrow::dispatch
