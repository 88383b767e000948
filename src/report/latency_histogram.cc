#include "report/latency_histogram.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <limits>

#include "base/format.h"

namespace windrow::report {
namespace {

constexpr size_t kBarsMax = 16;
constexpr size_t kWidthMin = 40;

}  // namespace

// Below 16 ms a class is a millisecond; from there on the highest bit gives the power of two, and
// the four behind it the class in it.
size_t LatencyHistogram::class_of(int64_t ms) {
  const auto value = static_cast<uint64_t>(ms);
  if (value < kSteps) return value;
  const auto power = static_cast<size_t>(std::bit_width(value)) - 1;
  return ((power - 3) * kSteps) + ((value >> (power - 4)) & (kSteps - 1));
}

int64_t LatencyHistogram::begin_of(size_t index) {
  if (index < kSteps) return static_cast<int64_t>(index);
  if (index >= kClasses) return std::numeric_limits<int64_t>::max();
  const size_t power = (index / kSteps) + 3;
  return static_cast<int64_t>((kSteps + index % kSteps) << (power - 4));
}

void LatencyHistogram::add(int64_t ms) {
  ms = std::max<int64_t>(ms, 0);
  min_ms_ = count_ == 0 ? ms : std::min(min_ms_, ms);
  max_ms_ = std::max(max_ms_, ms);
  ++counts_[class_of(ms)];
  ++count_;
}

int64_t LatencyHistogram::quantile_ms(double part) const {
  if (count_ == 0) return 0;
  const auto rank =
      std::max<int64_t>(1, static_cast<int64_t>(std::ceil(part * static_cast<double>(count_))));
  int64_t seen = 0;
  for (size_t i = 0; i < kClasses; ++i) {
    seen += counts_[i];
    if (seen >= rank) return std::clamp(begin_of(i), min_ms_, max_ms_);
  }
  return max_ms_;
}

std::vector<LatencyHistogram::Bar> LatencyHistogram::bars(size_t bars_max) const {
  std::vector<Bar> bars;
  if (count_ == 0) return bars;
  const size_t first = class_of(min_ms_);
  const size_t last = class_of(max_ms_);
  size_t joined = 1;
  while (last / joined - first / joined + 1 > bars_max)
    joined *= 2;
  for (size_t i = first / joined * joined; i <= last; i += joined) {
    Bar bar{.from_ms = begin_of(i), .to_ms = begin_of(i + joined)};
    for (size_t j = i; j < std::min(i + joined, kClasses); ++j)
      bar.count += counts_[j];
    bars.push_back(bar);
  }
  return bars;
}

std::string latency_text(int64_t ms) {
  if (ms < 1'000) return fmt::format("{} ms", ms);
  if (ms < 60'000) return fmt::format("{:.3g} s", static_cast<double>(ms) / 1'000);
  return human_duration(std::chrono::milliseconds(ms));
}

std::string histogram_text(const LatencyHistogram& histogram, size_t width) {
  const std::vector<LatencyHistogram::Bar> bars = histogram.bars(kBarsMax);
  size_t time_width = 0;
  size_t count_width = 0;
  int64_t most = 1;
  for (const LatencyHistogram::Bar& bar : bars) {
    time_width = std::max(time_width, latency_text(bar.from_ms).size());
    count_width = std::max(count_width, with_thousands(bar.count).size());
    most = std::max(most, bar.count);
  }
  // Two before the time, two behind it, one before the count.
  const size_t taken = time_width + count_width + 5;
  const size_t room = std::max(width, std::max(kWidthMin, taken + 1)) - taken;
  std::string text;
  for (const LatencyHistogram::Bar& bar : bars) {
    auto length = static_cast<size_t>(static_cast<double>(bar.count) / static_cast<double>(most) *
                                      static_cast<double>(room));
    // A bar with a count is at least one character.
    if (bar.count > 0) length = std::clamp<size_t>(length, 1, room);
    text += fmt::format("  {:>{}}  {} {}\n", latency_text(bar.from_ms), time_width,
                        std::string(length, '#'), with_thousands(bar.count));
  }
  return text;
}

}  // namespace windrow::report
