#include "dispatch/shared_limit.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace windrow::dispatch {

SharedLimit::SharedLimit(int32_t calls_max)
    : told_(calls_max > 0 ? calls_max : INT32_MAX), calls_max_(told_), is_limited_(calls_max > 0) {}

int32_t SharedLimit::calls_max() const {
  return static_cast<int32_t>(calls_max_);
}

bool SharedLimit::has_room(size_t out) const {
  return std::cmp_less(out, calls_max());
}

void SharedLimit::fell_short(size_t out) {
  is_limited_ = true;
  calls_max_ = std::min(calls_max_, std::max(static_cast<double>(out), 1.0));
}

void SharedLimit::answered() {
  if (is_limited_) calls_max_ = std::min(calls_max_ + 1 / calls_max_, told_);
}

int32_t SharedLimit::most_for(size_t upstream, std::span<const int32_t> wanted) const {
  std::vector<int32_t> others;
  others.reserve(wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (i != upstream) others.push_back(wanted[i]);
  }
  std::ranges::sort(others);
  int64_t left = calls_max();
  int64_t sharers = std::ssize(others) + 1;
  for (const int32_t other : others) {
    if (other > left / sharers) break;
    left -= other;
    --sharers;
  }
  return static_cast<int32_t>(std::max<int64_t>(left / sharers, 1));
}

}  // namespace windrow::dispatch
