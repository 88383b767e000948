// BatchingDelayPolicy: when a pass that runs to its end (embeddings, reranking: nobody can join it
// once it has begun) starts. Pure.
//
// Waiting for company pays only at the idle edge. While something runs, the queue fills by itself
// and for nothing; so what is there when a pass ends goes at once, all of it. An idle engine waits
// for a moment if another request is known to be on its way, or if they come so densely that one is
// to be expected within a quarter of what a pass costs anyway; never longer than half of that cost,
// and not once a pass is full. Deb and Serfozo (1973) showed the optimal policy to be such a limit;
// Inoue (2019) gives the latency without any waiting, which a fixed window seldom beats.
//
// A fixed window is there for those who want one: a pass then begins when it is full or its oldest
// request is that old, whatever else runs.
#pragma once

#include <cstdint>
#include <optional>

#include "base/clock.h"
#include "llm/step_report.h"

namespace windrow::engine {

struct Lingering {
  static constexpr Duration kMaxLingerMax = std::chrono::microseconds(2000);

  Duration max_linger = std::chrono::microseconds(500);  // 0: never; at most kMaxLingerMax
  Duration window{};                                     // not 0: a fixed window instead
  int32_t batch_size_max = 0;                            // inputs of a pass; 0: as many as fit
};

// How long the mean request comes after the one before, the newer counting more.
class ArrivalTimes {
 public:
  void arrived(TimePoint now);

  // Until when another one is to be expected within `soon`, by how densely they came: it is over
  // when none came for `soon`, or for four times the mean. Absent: they do not come so densely.
  std::optional<TimePoint> expected_until(Duration soon) const;

 private:
  std::optional<TimePoint> last_;
  std::optional<double> mean_s_;
};

// What the rule looks at, when inputs wait.
struct WaitingBatch {
  TimePoint oldest;           // when the first of them came
  bool full = false;          // no more would fit
  bool busy = false;          // something runs beside them, or ran until now
  bool has_lingered = false;  // the rule said so before, of these
  int64_t arriving = 0;       // requests known to be on their way
  Duration pass_fixed{};      // what a pass costs however small it is
};

struct LingerDecision {
  std::optional<TimePoint> until;                   // wait, at most until then; absent: go
  llm::StepReason reason = llm::StepReason::kIdle;  // of a pass that goes

  friend bool operator==(const LingerDecision&, const LingerDecision&) = default;
};

LingerDecision decide(TimePoint now, const WaitingBatch& batch, const ArrivalTimes& arrivals,
                      const Lingering& lingering);

}  // namespace windrow::engine
