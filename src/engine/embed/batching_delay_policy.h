// BatchingDelayPolicy: when a pass of embeddings or reranking starts. (It runs to its end: no
// request can join it once it has begun.) Pure; the classes are used by one thread at a time.
//
// Waiting for more requests pays only while nothing runs. While a pass runs the queue fills by
// itself, so what waits when it ends goes at once, all of it. An idle engine waits for a moment if
// another request is known to be on its way, or if requests come so densely that one is expected
// within a quarter of what a pass costs anyway; never longer than half of that cost, and not once a
// pass is full. Deb and Serfozo (1973) showed the optimal policy to be such a limit; Inoue (2019)
// gives the latency without any waiting, which a fixed window seldom beats.
//
// With a fixed window instead, a pass begins when it is full or its oldest request has waited that
// long, whatever else runs.
#pragma once

#include <cstdint>
#include <optional>

#include "base/clock.h"
#include "llm/step_report.h"

namespace windrow::engine {

struct BatchingDelay {
  static constexpr Duration kMaxLingerMax = std::chrono::microseconds(2000);

  Duration max_linger = std::chrono::microseconds(500);  // 0: never; at most kMaxLingerMax
  Duration window{};                                     // not 0: a fixed window instead
  int32_t batch_size_max = 0;                            // inputs of a pass; 0: as many as fit
};

// How long a pass takes by its tokens: a fixed part, and so much a token. Learned from the passes
// that ran, newer ones counting more.
class PassTime {
 public:
  void took(int32_t tokens, Duration duration);

  // The fixed part; 0 while only passes of one size were seen.
  Duration fixed() const;

  // The most tokens, from 1 to `tokens_max`, of a pass that takes no longer than `duration`;
  // `otherwise` while nothing is known.
  int32_t tokens_within(Duration duration, int32_t tokens_max, int32_t otherwise) const;

 private:
  struct Line {
    double fixed_s = 0;
    double token_s = 0;
  };
  std::optional<Line> line() const;

  // Weighted sums over passes, for least squares.
  double weight_ = 0;
  double tokens_ = 0;
  double tokens_squared_ = 0;
  double seconds_ = 0;
  double tokens_seconds_ = 0;
};

// How far apart requests arrive, newer ones counting more.
class ArrivalTimes {
 public:
  void arrived(TimePoint now);

  // Until when another request is expected to come within `soon`: that ends when none came for
  // `soon`, or for four times the mean. Absent: they do not come so densely.
  std::optional<TimePoint> expected_until(Duration soon) const;

 private:
  std::optional<TimePoint> last_;
  std::optional<double> mean_s_;
};

// The inputs that wait, as decide() sees them.
struct WaitingBatch {
  TimePoint oldest;         // when the first of them came
  bool full = false;        // no more would fit in a pass
  bool busy = false;        // something runs beside them, or ran until now
  bool has_waited = false;  // decide() has made these wait before
  int64_t arriving = 0;     // requests known to be on their way
  Duration pass_fixed{};    // PassTime::fixed
};

struct DelayDecision {
  std::optional<TimePoint> until;                   // wait, at most until then; absent: go
  llm::StepReason reason = llm::StepReason::kIdle;  // why a pass goes

  friend bool operator==(const DelayDecision&, const DelayDecision&) = default;
};

DelayDecision decide(TimePoint now, const WaitingBatch& batch, const ArrivalTimes& arrivals,
                     const BatchingDelay& delay);

}  // namespace windrow::engine
