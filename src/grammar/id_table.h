// IdTable: numbers of values that lie elsewhere, found by the value's hash (open addressing). Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace windrow::grammar {

class IdTable {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  // The id of a value with this hash for which `is_it(id)` holds.
  template <class IsIt>
  uint32_t find(uint64_t hash, const IsIt& is_it) const {
    if (slots_.empty()) return kNone;
    const uint32_t short_hash = shortened(hash);
    for (size_t at = short_hash & mask();; at = (at + 1) & mask()) {
      const Slot& slot = slots_[at];
      if (slot.id == kNone) return kNone;
      if (slot.hash == short_hash && is_it(slot.id)) return slot.id;
    }
  }

  // It is not there yet.
  void insert(uint64_t hash, uint32_t id) {
    if ((count_ + 1) * 4 > slots_.size() * 3) grow();
    place({.id = id, .hash = shortened(hash)});
    ++count_;
  }

  void clear() {
    slots_.clear();
    count_ = 0;
  }

  size_t memory_bytes() const { return slots_.capacity() * sizeof(Slot); }

 private:
  struct Slot {
    uint32_t id = kNone;
    uint32_t hash = 0;
  };

  static uint32_t shortened(uint64_t hash) { return static_cast<uint32_t>(hash ^ (hash >> 32)); }
  size_t mask() const { return slots_.size() - 1; }

  void place(const Slot& slot) {
    size_t at = slot.hash & mask();
    while (slots_[at].id != kNone)
      at = (at + 1) & mask();
    slots_[at] = slot;
  }

  void grow() {
    const std::vector<Slot> before =
        std::exchange(slots_, std::vector<Slot>(slots_.empty() ? 64 : slots_.size() * 2));
    for (const Slot& slot : before) {
      if (slot.id != kNone) place(slot);
    }
  }

  std::vector<Slot> slots_;  // a power of two
  size_t count_ = 0;
};

}  // namespace windrow::grammar
