// CellMap: which cells of a model's memory are taken. Pure; a mirror of how libllama hands them
// out, pinned by tests/facts: the lowest free ones, in the order of a step's tokens.
//
// A step reads the cells up to the highest that is taken, whoever has it and whether the others in
// between hold anything. So end() says what a step costs, and used() what it could cost.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

namespace windrow::engine {

class CellMap {
 public:
  // The lowest free one; there is no last one, whoever asks counts.
  int32_t take();

  void give_back(int32_t cell);

  int32_t used() const { return used_; }
  int32_t end() const { return static_cast<int32_t>(taken_.size()); }  // behind the highest taken

 private:
  std::vector<bool> taken_;  // ends with a cell that is taken
  // Free cells below the end, and some above it from before.
  std::priority_queue<int32_t, std::vector<int32_t>, std::greater<>> free_;
  int32_t used_ = 0;
};

}  // namespace windrow::engine
