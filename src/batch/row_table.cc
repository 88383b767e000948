#include "batch/row_table.h"

#include <algorithm>
#include <cstdlib>
#include <new>

namespace windrow::batch {
namespace {

constexpr size_t kCapacityMin = 256;

// Places behind the last home, to begin with.
constexpr size_t kTail = 256;

// Up to here a table is doubled: its size does not matter yet.
constexpr size_t kSmall = size_t{1} << 17;

}  // namespace

void RowTable::Free::operator()(unsigned char* block) const {
  std::free(block);
}

RowTable& RowTable::operator=(RowTable&& other) noexcept {
  block_ = std::move(other.block_);
  capacity_ = std::exchange(other.capacity_, 0);
  slots_ = std::exchange(other.slots_, 0);
  size_ = std::exchange(other.size_, 0);
  return *this;
}

RowTable::Key RowTable::key(Slot slot) const {
  Key key{};
  std::memcpy(&key.high, at(slot), sizeof key.high);
  std::memcpy(&key.low, at(slot) + sizeof key.high, sizeof key.low);
  return key;
}

void RowTable::write(Slot slot, const Key& key, uint32_t value) {
  std::memcpy(at(slot), &key.high, sizeof key.high);
  std::memcpy(at(slot) + sizeof key.high, &key.low, sizeof key.low);
  set(slot, value);
}

// Grows with the key, whatever the capacity.
RowTable::Slot RowTable::home(const Key& key) const {
  __extension__ using Wide = unsigned __int128;
  return static_cast<Slot>((static_cast<Wide>(key.high) * capacity_) >> 64);
}

RowTable::Slot RowTable::lower_bound(const Key& wanted) const {
  Slot slot = home(wanted);
  while (slot < slots_ && value(slot) != 0 && key(slot) < wanted)
    ++slot;
  return slot;
}

RowTable::Slot RowTable::empty_slot_from(Slot slot) const {
  while (slot < slots_ && value(slot) != 0)
    ++slot;
  return slot;
}

std::optional<RowTable::Slot> RowTable::find(const Hash128& identity) const {
  const Key wanted = key_of(identity);
  const Slot slot = lower_bound(wanted);
  if (slot == slots_ || value(slot) == 0 || key(slot) != wanted) return std::nullopt;
  return slot;
}

std::pair<RowTable::Slot, bool> RowTable::find_or_add(const Hash128& identity, uint32_t value) {
  const Key wanted = key_of(identity);
  Slot slot = lower_bound(wanted);
  if (slot < slots_ && this->value(slot) != 0 && key(slot) == wanted) return {slot, false};
  Slot empty = empty_slot_from(slot);
  while (is_full() || empty == slots_) {
    grow();
    slot = lower_bound(wanted);
    empty = empty_slot_from(slot);
  }
  std::memmove(at(slot + 1), at(slot), (empty - slot) * kSlotBytes);
  write(slot, wanted, value);
  ++size_;
  return {slot, true};
}

bool RowTable::is_full() const {
  return size_ >= capacity_ - capacity_ / 16;
}

void RowTable::grow() {
  if (!is_full()) {
    // There is room, only not for keys as unlike hashes as these.
    resize(slots_ + (slots_ - capacity_));
  } else {
    spread(std::max(kCapacityMin, capacity_ < kSmall ? 2 * capacity_ : capacity_ + capacity_ / 14));
  }
}

// New slots are empty.
void RowTable::resize(size_t slots) {
  // Moves pages where the block is large, and no bytes.
  unsigned char* const before = block_.release();
  auto* const block = static_cast<unsigned char*>(std::realloc(before, slots * kSlotBytes));
  block_.reset(block == nullptr ? before : block);
  if (block == nullptr) throw std::bad_alloc();
  if (slots > slots_) std::memset(at(slots_), 0, (slots - slots_) * kSlotBytes);
  slots_ = slots;
}

// Puts every entry where it belongs in a table of another capacity: all of them to the end first,
// and from there, in their order, to their places.
void RowTable::spread(size_t capacity) {
  resize(capacity + std::max(kTail, slots_ - capacity_));
  capacity_ = capacity;
  size_t rest = slots_;
  for (Slot slot = slots_; slot > 0; --slot) {
    if (value(slot - 1) == 0) continue;
    --rest;
    if (rest != slot - 1) std::memcpy(at(rest), at(slot - 1), kSlotBytes);
  }
  Slot end = 0;  // of the sorted part
  while (rest < slots_) {
    const Key moved = key(rest);
    const uint32_t moved_value = value(rest);
    const Slot slot = std::max(home(moved), end);
    if (slot > rest) {
      // Too many ask for the last places: they need more behind those.
      const size_t left = slots_ - rest;
      const size_t more = slot - rest;
      resize(slots_ + more);
      std::memmove(at(rest + more), at(rest), left * kSlotBytes);
      rest += more;
    }
    std::memset(at(end), 0, (slot - end) * kSlotBytes);
    write(slot, moved, moved_value);
    end = slot + 1;
    ++rest;
  }
  std::memset(at(end), 0, (slots_ - end) * kSlotBytes);
}

}  // namespace windrow::batch
