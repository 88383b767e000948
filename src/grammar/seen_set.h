// SeenSet: a set of numbers that is emptied often and at no cost. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace windrow::grammar {

class SeenSet {
 public:
  void clear() {
    ++round_;
    count_ = 0;
  }

  // Whether it was not there yet.
  bool add(uint64_t key) {
    if (count_ * 2 >= slots_.size()) grow();
    for (size_t at = start(key);; at = (at + 1) & (slots_.size() - 1)) {
      Slot& slot = slots_[at];
      if (slot.round != round_) {
        slot = {.key = key, .round = round_};
        ++count_;
        return true;
      }
      if (slot.key == key) return false;
    }
  }

 private:
  struct Slot {
    uint64_t key = 0;
    uint64_t round = 0;  // it counts only in this one
  };

  size_t start(uint64_t key) const {
    return static_cast<size_t>((key * 0x9E3779B97F4A7C15ULL) >> 32) & (slots_.size() - 1);
  }

  void grow() {
    const std::vector<Slot> before =
        std::exchange(slots_, std::vector<Slot>(slots_.empty() ? 64 : slots_.size() * 2));
    count_ = 0;
    for (const Slot& slot : before) {
      if (slot.round == round_) add(slot.key);
    }
  }

  std::vector<Slot> slots_;  // a power of two
  size_t count_ = 0;
  uint64_t round_ = 1;
};

}  // namespace windrow::grammar
