// Stacks: what is to come behind a lexeme, behind that, and so on to the end of the text. All of
// them lie in one graph, each part once (a graph-structured stack: Tomita, 1985): a stack is a
// number, equal ones have the same number, and a number can stand for several stacks at once, those
// of readings that differ only in what is behind them. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "grammar/id_table.h"

namespace windrow::grammar {

using StackId = uint32_t;

// The top of a stack. Of a sequence: `first` is the child that comes next. Of a repetition: `first`
// times more are needed, `second` are allowed.
struct Frame {
  uint32_t node = 0;
  uint32_t first = 0;
  uint32_t second = 0;
  StackId below = 0;

  bool is_like(const Frame& other) const {
    return node == other.node && first == other.first && second == other.second;
  }

  friend auto operator<=>(const Frame&, const Frame&) = default;
};

// Used by one thread at a time. Numbers are given out upwards: what lies below is always less.
class Stacks {
 public:
  static constexpr StackId kEnd = 0;                // nothing more is to come
  static constexpr uint32_t kEndNode = UINT32_MAX;  // of the one frame of kEnd

  Stacks() { clear(); }

  StackId push(const Frame& frame) { return intern({&frame, 1}); }

  // All of theirs. What is below the same frame is united too, down to some depth: else readings
  // that meet again and again would double each time. `work` grows with the frames looked at; what
  // comes out when it has passed `work_max` is worth nothing.
  StackId unite(std::vector<StackId> stacks, size_t& work, size_t work_max) {
    Work left{work, work_max};
    return unite(std::move(stacks), left, 0);
  }

  // Sorted, none twice.
  StackId intern(std::span<const Frame> frames);

  // Valid until the next stack is made; frame() copies.
  std::span<const Frame> frames(StackId stack) const {
    return {frames_.data() + from_[stack], from_[stack + 1] - from_[stack]};
  }
  size_t frames_count(StackId stack) const { return from_[stack + 1] - from_[stack]; }
  Frame frame(StackId stack, size_t i) const { return frames_[from_[stack] + i]; }

  size_t count() const { return from_.size() - 1; }
  size_t memory_bytes() const;
  void clear();  // but for kEnd

 private:
  struct Work {
    size_t& done;
    size_t max;
  };
  StackId unite(std::vector<StackId> stacks, Work& work, int depth);

  std::vector<Frame> frames_;
  std::vector<uint32_t> from_;
  IdTable table_;
  std::map<std::vector<StackId>, StackId> united_;  // what unite() made of them
};

}  // namespace windrow::grammar
