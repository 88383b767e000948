#include "engine/embed/batch_budget.h"

#include <algorithm>

#include "base/ensure.h"

namespace windrow::engine {
namespace {

// What is used when nothing could be measured.
constexpr int32_t kTokensUnmeasured = 256;

// Each size is timed so often and the shortest time counts: a busy machine only ever adds.
constexpr int kRepeats = 2;

// When so many sizes above the best have less than this share of its rate, no larger one is tried.
// One alone may be a neighbour that woke up: what it slowed down would hide all that is larger.
constexpr double kClearlyWorse = 0.85;
constexpr int kClearlyWorseSizes = 2;

// Rates this close to the best are the same.
constexpr double kAsGood = 0.98;

const BudgetPoint& fastest(const std::vector<BudgetPoint>& points) {
  return *std::max_element(points.begin(), points.end(),
                           [](const BudgetPoint& a, const BudgetPoint& b) {
                             return tokens_per_second(a) < tokens_per_second(b);
                           });
}

}  // namespace

double tokens_per_second(const BudgetPoint& point) {
  return point.tokens / std::max(seconds(point.duration), 1e-9);
}

int32_t best_budget(const std::vector<BudgetPoint>& points) {
  ENSURE(!points.empty(), "nothing was measured");
  const double rate_min = kAsGood * tokens_per_second(fastest(points));
  std::vector<int32_t> good;
  for (const BudgetPoint& point : points) {
    if (tokens_per_second(point) >= rate_min) good.push_back(point.tokens);
  }
  std::sort(good.begin(), good.end());
  return good[good.size() / 2];
}

BudgetSearch::BudgetSearch(int32_t tokens_max, Duration time_max)
    : tokens_max_(std::min(tokens_max, kTokensMax)), time_max_(time_max) {
  ENSURE(tokens_max >= 1, "passes of {} tokens", tokens_max);
}

bool BudgetSearch::has(int32_t tokens) const {
  return std::any_of(points_.begin(), points_.end(),
                     [&](const BudgetPoint& point) { return point.tokens == tokens; });
}

std::optional<int32_t> BudgetSearch::next() const {
  if (stopped_ || time_ >= time_max_) return std::nullopt;
  if (points_.empty()) return std::min(kTokensMin, tokens_max_);
  const std::optional<int32_t> size =
      repeats_ < kRepeats ? std::optional(points_.back().tokens) : next_size();
  if (!size) return std::nullopt;
  // By the rate so far: a pass that would go past the time is not begun.
  const double pass_s = *size / tokens_per_second(fastest(points_));
  if (seconds(time_) + pass_s > seconds(time_max_)) return std::nullopt;
  return size;
}

std::optional<int32_t> BudgetSearch::next_size() const {
  const BudgetPoint& best_point = fastest(points_);
  const double rate_min = kClearlyWorse * tokens_per_second(best_point);
  int32_t largest = 0;
  int worse = 0;  // sizes above the best
  for (const BudgetPoint& point : points_) {
    largest = std::max(largest, point.tokens);
    if (point.tokens > best_point.tokens && tokens_per_second(point) < rate_min) ++worse;
  }
  if (largest < tokens_max_ && worse < kClearlyWorseSizes) {
    return std::min(2 * largest, tokens_max_);
  }
  const int32_t best = best_point.tokens;
  for (const int32_t beside : {best + best / 2, best - best / 4}) {
    if (beside >= kTokensMin && beside <= tokens_max_ && !has(beside)) return beside;
  }
  return std::nullopt;
}

void BudgetSearch::took(Duration duration) {
  const std::optional<int32_t> tokens = next();
  ENSURE(tokens, "a pass was timed after the search was over");
  time_ += duration;
  if (!warm_) {
    warm_ = true;
    return;
  }
  if (!points_.empty() && points_.back().tokens == *tokens) {
    points_.back().duration = std::min(points_.back().duration, duration);
    ++repeats_;
    return;
  }
  points_.push_back({.tokens = *tokens, .duration = duration});
  repeats_ = 1;
}

int32_t BudgetSearch::best() const {
  return points_.empty() ? std::min(kTokensUnmeasured, tokens_max_) : best_budget(points_);
}

}  // namespace windrow::engine
