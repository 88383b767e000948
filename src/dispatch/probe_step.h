// ProbeStep: what an upstream does with one number of requests in flight. Pure: whoever sends keeps
// that many in flight and tells what ends; it tells when that is enough, and what it came to.
//
// The first ends are of requests that were sent before the number was reached, or found an empty
// queue: they only warm up. After them whole rounds are counted, as many requests as are in flight:
// those that are answered together then count together, and nothing is cut at either end.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "dispatch/refusal_watch.h"

namespace windrow::dispatch {

struct ProbeStepOptions {
  int32_t in_flight = 1;
  int32_t already = 0;  // in flight when it begins

  // It is over after the round in which it reaches one of these: so many requests (at least one
  // round and kProbeRequestsMin), or so long; 0: not by that.
  int64_t requests = 0;
  Duration time = std::chrono::seconds(8);

  Duration time_max = std::chrono::seconds(80);  // then it is over, whatever is known
};

constexpr int64_t kProbeRequestsMin = 3;

enum class ProbeEnd : uint8_t {
  kAnswered,
  kOverloaded,  // 429, 503 or no answer in time
  kFailed,      // another way
};

struct ProbeFlight {
  int64_t number = 0;  // of the step's requests, as ProbeStep::sent names it; 0: of one before
  TimePoint sent;
  TimePoint ended;
  int64_t tokens = 0;  // generated; of a call that generates none, read
  ProbeEnd end = ProbeEnd::kAnswered;
};

// Rates are 0 where nothing was answered, latencies too.
struct ProbeMeasure {
  int32_t in_flight = 1;
  int64_t answered = 0;  // of those counted
  int64_t overloaded = 0;
  int64_t failed = 0;
  bool refuses = false;  // so many are overloaded that it has too much to do (RefusalWatch)
  Duration time{};       // in which they ended
  double requests_per_s = 0;
  double tokens_per_s = 0;
  bool all_told_tokens = false;  // every answer said how many it has
  Duration latency_p50{};
  Duration latency_p95{};

  // What two numbers in flight are compared by.
  double work_per_s() const { return all_told_tokens ? tokens_per_s : requests_per_s; }
};

class ProbeStep {
 public:
  ProbeStep(const ProbeStepOptions& options, TimePoint begin);

  // A request goes out.
  int64_t sent();

  // In the order of their ends; not before `begin`.
  void ended(const ProbeFlight& flight);

  // No more is to be sent: enough is known, or it refuses or fails too often.
  bool over(TimePoint now) const;
  TimePoint over_at_latest() const { return begin_ + options_.time_max; }

  ProbeMeasure measure() const;

 private:
  bool whole_rounds() const;
  int64_t counted() const { return measured_.answered + measured_.overloaded + measured_.failed; }

  const ProbeStepOptions options_;
  const TimePoint begin_;
  int64_t warm_up_left_;
  int64_t warm_up_answers_ = 0;
  int64_t overloaded_ = 0;  // warming up included
  int64_t failed_ = 0;
  RefusalWatch refusals_;
  RefusalWatch failures_;  // the same, of those that failed in another way
  bool fails_ = false;     // most of them
  TimePoint from_;         // the end of the warm-up
  TimePoint to_;           // the last that ended

  ProbeMeasure measured_;
  int64_t tokens_ = 0;
  int64_t told_tokens_ = 0;  // answers that said them
  std::vector<Duration> latencies_;
  // While it warms up: kept in case nothing else ever comes.
  int64_t warm_up_tokens_ = 0;
  int64_t warm_up_told_tokens_ = 0;
  std::vector<Duration> warm_up_latencies_;
};

}  // namespace windrow::dispatch
