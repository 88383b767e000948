// SharedLimit: how many calls may be out at a time, of all upstreams together, where they share
// something that runs out: the files that this process may have open. Pure.
//
// Shares are max-min fair: who wants less than an equal part of what is left gets what it wants,
// and the others share the rest equally.
//
// Others use files too, so the limit may turn out to be too high: when a call finds no file left,
// the limit falls to as many as were out beside it. From there it grows by one with each round of
// answers, back to what it was told (additive increase; without a number it was told, for ever).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace windrow::dispatch {

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
  const double told_;
  double calls_max_;
  bool is_limited_;
};

}  // namespace windrow::dispatch
