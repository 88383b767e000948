// RowTable: a hash table of 32 bits for each of very many rows, in at most 16 bytes a row.
//
// Open addressing with linear probing and entries sorted by their keys (ordered hash tables: Amble
// and Knuth, 1974): an entry is at or behind the home slot of its key, with no empty slot between.
// The order survives a change of size, so the table grows inside one block of memory by a
// fourteenth at a time, where another table would be doubled and copied, and it may be 94 % full.
//
// A slot has 14 bytes: 80 bits of the identity and the 32 of the row. Two of 10 million rows agree
// in 80 bits with a probability of 4 in 10^11; users say what that may cost (row_index.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "base/hash.h"

namespace windrow::batch {

// Used by one thread at a time.
class RowTable {
 public:
  // Valid until the next find_or_add.
  using Slot = size_t;

  RowTable() = default;
  RowTable(RowTable&& other) noexcept { *this = std::move(other); }
  RowTable& operator=(RowTable&& other) noexcept;
  RowTable(const RowTable&) = delete;
  RowTable& operator=(const RowTable&) = delete;
  ~RowTable() = default;

  // Nothing: it was not added.
  std::optional<Slot> find(const Hash128& identity) const;

  // Finds a row, or adds it with `value`, which is not 0. The second: whether it was added.
  std::pair<Slot, bool> find_or_add(const Hash128& identity, uint32_t value);

  uint32_t value(Slot slot) const {
    uint32_t value = 0;
    std::memcpy(&value, at(slot) + kValueOffset, sizeof value);
    return value;
  }

  // `value` is not 0, which marks an empty slot.
  void set(Slot slot, uint32_t value) {
    std::memcpy(at(slot) + kValueOffset, &value, sizeof value);
  }

  // Calls each(value) for every row.
  template <class Each>
  void for_each(Each each) const {
    for (Slot slot = 0; slot < slots_; ++slot)
      if (const uint32_t found = value(slot); found != 0) each(found);
  }

  size_t size() const { return size_; }
  size_t bytes() const { return slots_ * kSlotBytes; }

 private:
  static constexpr size_t kValueOffset = 10;
  static constexpr size_t kSlotBytes = 14;

  struct Key {
    uint64_t high;
    uint16_t low;

    friend auto operator<=>(const Key&, const Key&) = default;
  };

  struct Free {
    void operator()(unsigned char* block) const;
  };

  static Key key_of(const Hash128& identity) {
    return {.high = identity.low, .low = static_cast<uint16_t>(identity.high)};
  }

  unsigned char* at(Slot slot) const { return block_.get() + slot * kSlotBytes; }
  Key key(Slot slot) const;
  Slot home(const Key& key) const;
  void write(Slot slot, const Key& key, uint32_t value);

  // The first slot from the home of `wanted` on that is empty or holds a key that is not less.
  Slot lower_bound(const Key& wanted) const;
  Slot empty_slot_from(Slot slot) const;
  bool is_full() const;

  void grow();
  void resize(size_t slots);
  void spread(size_t capacity);

  std::unique_ptr<unsigned char, Free> block_;
  size_t capacity_ = 0;  // home slots
  size_t slots_ = 0;     // with the slots behind the last home slot
  size_t size_ = 0;
};

}  // namespace windrow::batch
