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
#include "grammar/member_sets.h"

namespace windrow::grammar {

using StackId = uint32_t;

// The top of a stack: a node that is not complete. Sequence: `first` is the child that comes next.
// Repetition: `first` more times are needed, `second` are allowed. Members in any order:
// MembersFrame.
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

// A frame of a kMembers node.
struct MembersFrame {
  MemberSetId written = MemberSets::kNone;
  uint32_t others = 0;       // how many other members, as far as that matters
  bool before_name = false;  // a name comes next; else a member is over

  static MembersFrame of(const Frame& frame) {
    return {.written = frame.first,
            .others = frame.second >> 1,
            .before_name = (frame.second & 1) != 0};
  }
  Frame frame(uint32_t node, StackId below) const {
    return {.node = node,
            .first = written,
            .second = others << 1 | (before_name ? 1U : 0U),
            .below = below};
  }
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

  // The sets that frames of members have.
  MemberSets& member_sets() { return member_sets_; }
  const MemberSets& member_sets() const { return member_sets_; }

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
  MemberSets member_sets_;
  std::map<std::vector<StackId>, StackId> united_;  // results of unite()
};

}  // namespace windrow::grammar
