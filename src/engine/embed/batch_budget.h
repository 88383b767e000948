// BudgetSearch: how many tokens a pass over many inputs should have. It is measured, because it
// cannot be known: a pass has fixed costs, and libllama attends over the whole packed batch, so
// small passes waste the one and large ones the other. The best size depends on the model and the
// machine (often 200 to 700 tokens).
//
// Pure: it names the size to time next, is given the time, and decides by these points alone. Sizes
// are tried in powers of two from below, twice each for the shorter time, until two of them were
// clearly worse than the best; then halfway steps beside the best. It ends after a given time, so a
// large model tries few sizes; there the choice matters least.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/clock.h"

namespace windrow::engine {

// A measurement: a pass of `tokens` took `duration`.
struct BudgetPoint {
  int32_t tokens = 0;
  Duration duration{};

  friend bool operator==(const BudgetPoint&, const BudgetPoint&) = default;
};

double tokens_per_second(const BudgetPoint& point);

// The best size: of the points within a fiftieth of the best rate the one in the middle by tokens,
// the larger of two. There the choice suffers least from what measuring cannot know: the lengths of
// real inputs, and that a pass of whole inputs is seldom full. `points` is not empty.
int32_t best_budget(const std::vector<BudgetPoint>& points);

// Used by one thread at a time.
class BudgetSearch {
 public:
  static constexpr int32_t kTokensMin = 64;
  static constexpr int32_t kTokensMax = 2048;

  // Tries sizes up to `tokens_max`, until the passes together took `time_max`.
  BudgetSearch(int32_t tokens_max, Duration time_max);

  // The size of the next pass to time; nothing when the search is over.
  std::optional<int32_t> next() const;

  // A pass of next() tokens took so long. The very first pass is a warm-up and does not count.
  void took(Duration duration);

  // Ends the search: a pass failed.
  void stop() { stopped_ = true; }

  // The best size so far; without measurements 256, or less where the limit is lower.
  int32_t best() const;

  const std::vector<BudgetPoint>& points() const { return points_; }

 private:
  std::optional<int32_t> next_size() const;
  bool has(int32_t tokens) const;

  const int32_t tokens_max_;
  const Duration time_max_;
  std::vector<BudgetPoint> points_;  // the last is being measured while repeats_ is 1
  Duration time_{};
  int repeats_ = 0;  // measurements of the last point
  bool warm_ = false;
  bool stopped_ = false;
};

}  // namespace windrow::engine
