// Stacks: what comes after a lexeme, after that, and so on to the end of the text. All stacks share
// one graph in which each part is stored once (a graph-structured stack: Tomita, 1985). A stack is
// a number; equal stacks have the same number, and a number can stand for several stacks at once,
// those of readings that differ only in what comes later.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "grammar/lexeme/hash_tables.h"

namespace windrow::grammar {

using StackId = uint32_t;

// The top of a stack: a node that is not complete. Sequence: `first` is the child that comes next.
// Repetition: `first` more times are needed, `second` are allowed.
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

// Used by one thread at a time. Invariant: the number of a stack is higher than those of all stacks
// below it.
class Stacks {
 public:
  static constexpr StackId kEnd = 0;                // nothing more is to come
  static constexpr uint32_t kEndNode = UINT32_MAX;  // the node of the only frame of kEnd

  Stacks() { clear(); }

  StackId push(const Frame& frame) { return intern({&frame, 1}); }

  // The stack that stands for all of `stacks`. What is below equal frames is united too, down to
  // some depth: else readings that meet again and again would double each time. Adds the frames
  // looked at to `work`; if it exceeds `work_max` the result is meaningless.
  StackId unite(std::vector<StackId> stacks, size_t& work, size_t work_max) {
    Work left{work, work_max};
    return unite(std::move(stacks), left, 0);
  }

  // The stack of these frames, which are sorted and different.
  StackId intern(std::span<const Frame> frames);

  // Valid until the next stack is made; frame() returns a copy.
  std::span<const Frame> frames(StackId stack) const {
    return {frames_.data() + from_[stack], from_[stack + 1] - from_[stack]};
  }
  size_t frames_count(StackId stack) const { return from_[stack + 1] - from_[stack]; }
  Frame frame(StackId stack, size_t i) const { return frames_[from_[stack] + i]; }

  size_t count() const { return from_.size() - 1; }
  size_t memory_bytes() const;
  void clear();  // all but kEnd

 private:
  struct Work {
    size_t& done;
    size_t max;
  };
  StackId unite(std::vector<StackId> stacks, Work& work, int depth);

  std::vector<Frame> frames_;
  std::vector<uint32_t> from_;
  IdTable table_;
  std::map<std::vector<StackId>, StackId> united_;  // results of unite()
};

}  // namespace windrow::grammar
