#include "engine/schedule/cell_map.h"

#include "base/ensure.h"

namespace windrow::engine {

int32_t CellMap::take() {
  ++used_;
  if (!free_.empty() && free_.top() < end()) {
    const int32_t cell = free_.top();
    free_.pop();
    taken_[static_cast<size_t>(cell)] = true;
    return cell;
  }
  // None is free below the end, so those that were remembered lie above it.
  free_ = {};
  taken_.push_back(true);
  return end() - 1;
}

void CellMap::give_back(int32_t cell) {
  ENSURE(cell >= 0 && cell < end() && taken_[static_cast<size_t>(cell)], "cell {} is not taken",
         cell);
  --used_;
  taken_[static_cast<size_t>(cell)] = false;
  free_.push(cell);
  while (!taken_.empty() && !taken_.back())
    taken_.pop_back();
}

}  // namespace windrow::engine
