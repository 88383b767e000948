// ConcurrencyLimit: the in-flight window of one upstream, found while the job runs: the fewest
// requests in flight that finish about as much work per second as any number would. Pure: times
// come with the events; used by one thread at a time.
//
// It climbs by throughput. Limits that follow latency (TCP Vegas, Brakmo and Peterson 1994; the
// Gradient2 limit of Netflix' concurrency-limits) take every slower answer for a queue; but a
// server that batches answers each request more slowly and all of them sooner, so they stop far
// below its knee. Here latency is a hint for where to look, and throughput decides.
//
//   ramp    doubles while that brings more. Until there are answers it doubles by the clock, to
//           `unanswered_max`: with answers that take 20 s there is no time to wait for them, and
//           what is too much only waits in the server.
//   search  where most requests wait for others, to about as many as do not. From there up by
//           doubling while that brings more; then down, halving the gap on the ladder
//           1 2 3 4 6 8 12 16 24 ..., to the smallest number that brings about as much.
//   hold    stays, and looks one step up and one down now and then, more rarely each time it learnt
//           nothing; a change of throughput makes it search at once.
//
// An overload cuts the number by about a half, once for all that were sent before the cut (AIMD,
// Jacobson 1988), and where it happened is not tried again for a while. What is an overload and not
// a refusal by chance is decided by refusal_watch.h.
//
// "Serial" is said only where latencies show it: with more in flight each request took as much
// longer.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/clock.h"
#include "dispatch/throughput.h"

namespace windrow::dispatch {

struct ConcurrencyOptions {
  int32_t fixed = 0;            // above 0: this many, whatever happens
  int32_t initial = 4;          // at the start of the ramp
  int32_t unanswered_max = 64;  // how far it goes before the first answer
  int32_t limit_max = 256;
};

enum class FlightEnd : uint8_t {
  kAnswered,
  kOverloaded,  // with this one it was noticed that the upstream has too much to do
  kRefused,     // refused, which alone says nothing
  kOther,       // says nothing about how much it can take
};

// One request that was sent and has ended.
struct Flight {
  TimePoint sent;
  TimePoint ended;
  int32_t in_flight = 1;  // when it was sent, itself included
  double work = 1;        // about what it cost: generated tokens and a part of the prompt's
  FlightEnd end = FlightEnd::kAnswered;
};

enum class ConcurrencyKind : uint8_t {
  kMeasuring,  // nothing can be said yet
  kFixed,      // it was given
  kSerial,     // it answers one request at a time
  kSaturates,  // more than `in_flight` bring nothing
  kRefuses,    // more than `in_flight` are refused or time out
  kUnlimited,  // limit_max still brings more than less does
};

// The speed of an upstream and the requests in flight at which it was measured, for people.
struct ConcurrencyFinding {
  ConcurrencyKind kind = ConcurrencyKind::kMeasuring;
  int32_t in_flight = 0;
  double work_per_s = 0;
  double latency_s = 0;
  double busy = 0;  // of these, worked on at a time as far as latencies tell; 0: unknown

  friend bool operator==(const ConcurrencyFinding&, const ConcurrencyFinding&) = default;
};

// "saturates at 16 in flight".
std::string to_string(const ConcurrencyFinding& finding);

class ConcurrencyLimit {
 public:
  explicit ConcurrencyLimit(ConcurrencyOptions options = {});

  // How many requests may be in flight now; at least 1.
  int32_t limit() const { return std::min(limit_, most_); }

  // An upper bound from outside, from now on: the part of what upstreams share (SharedLimit below).
  // It looks for more again when the bound is raised.
  void set_most(TimePoint now, int32_t most);

  // A request is sent; `in_flight` counts it.
  void sent(TimePoint now, int32_t in_flight);

  // A request that was reported by sent() has ended. May change limit().
  void ended(const Flight& flight);

  // Nothing is sent until then, so requests in flight have fewer others beside them than it seems.
  void paused(TimePoint until);

  // When time alone may raise the limit: then wake() is to be called. Nothing: only ends of
  // requests can.
  std::optional<TimePoint> wake_at() const;
  void wake(TimePoint now);

  // What was found out so far, also while the search goes on.
  ConcurrencyFinding finding() const;

 private:
  enum class Phase : uint8_t { kRamp, kClimb, kBisect, kHold, kProbeUp, kProbeDown };

  void set_limit(TimePoint now, int32_t limit);
  void overloaded(const Flight& flight);
  bool is_disturbed(const Flight& flight) const;
  bool counts(const Flight& flight) const;

  void ramp(const Flight& flight);

  bool measured_enough(TimePoint now) const;
  bool most_wait() const;
  void judge(TimePoint now);
  void begin_trial(TimePoint now, Phase phase, int32_t limit);
  void climb(TimePoint now, double work_per_s);
  void begin_bisect(TimePoint now);
  void bisect(TimePoint now);
  void look_at_hold(TimePoint now, double work_per_s);
  void hold(TimePoint now, bool learnt);
  void probe_down(TimePoint now);
  ConcurrencyFinding found(TimePoint now) const;

  bool may_try(TimePoint now, int32_t limit) const;
  bool keeps(double work_per_s) const;
  int32_t number_busy() const;
  double busy_at(int32_t limit) const;

  const ConcurrencyOptions options_;

  int32_t limit_;
  int32_t most_;  // where it is found, limit_ is no more than this
  Phase phase_ = Phase::kRamp;
  TimePoint limit_since_{};
  bool began_ = false;
  int64_t answers_ = 0;
  bool limit_reached_ = false;  // as many as the limit were in flight since it was set

  ThroughputCurve curve_;
  ThroughputEstimate trial_;  // of the present limit, after the ramp
  int32_t best_ = 0;          // the number that holds; 0: the search begins
  double peak_ = 0;           // work per second, the most of any number
  int32_t too_few_ = 0;       // bisecting: cannot keep up, or 0
  ConcurrencyFinding finding_;

  // The hold's.
  TimePoint look_at_{};
  Duration look_interval_{};
  Duration trial_took_{};

  // Overload's.
  TimePoint cut_at_{};
  bool was_cut_ = false;
  TimePoint paused_until_{};
  bool was_paused_ = false;
  int32_t least_refused_ = INT32_MAX;  // in flight at refusals since the last answer
  int32_t refused_at_ = 0;             // this many were too many, or 0
  TimePoint refused_until_{};
  Duration refused_for_{};
};

// How many calls may be in flight at a time, of all upstreams together, where they share something
// that runs out: the files that this process may have open.
//
// Shares are max-min fair: an upstream that wants less than an equal part of what is left gets what
// it wants, and the others share the rest equally.
//
// The files are also used by others, so the limit may turn out to be too high: when a call finds no
// file left, the limit falls to as many as were in flight beside it. From there it grows by one
// with each round of answers, back to what was given (additive increase; without a given number,
// for ever).
class SharedLimit {
 public:
  // 0: no limit until a call falls short.
  explicit SharedLimit(int32_t calls_max);

  bool is_limited() const { return is_limited_; }

  // So many may be out; INT32_MAX: no limit.
  int32_t calls_max() const;

  // Whether one more may go out beside so many.
  bool has_room(size_t out) const;

  // A call found no file left while so many others were out.
  void fell_short(size_t out);

  // A call was answered.
  void answered();

  // The most that one upstream may have beside what the others want, its own wish aside; at least
  // 1, so shares of more upstreams than the limit has calls are more than the limit together.
  int32_t most_for(size_t upstream, std::span<const int32_t> wanted) const;

 private:
  const double given_max_;
  double calls_max_;
  bool is_limited_;
};

}  // namespace windrow::dispatch
