// Hash tables with open addressing for building and running automata: Interner gives sequences ids,
// IdTable finds ids of values stored by its user, SeenSet is a set that is cleared at no cost. Each
// is used by one thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace windrow::grammar {

// Gives equal sequences of numbers equal ids: 0, 1, 2 and so on. Stores all of them in one array.
class Interner {
 public:
  Interner() : slots_(64, kNone) {}

  // The id, and whether it is new.
  std::pair<uint32_t, bool> intern(std::span<const uint32_t> sequence) {
    const uint64_t hash = hash_of(sequence);
    size_t slot = hash & (slots_.size() - 1);
    while (slots_[slot] != kNone) {
      const uint32_t id = slots_[slot];
      if (hashes_[id] == hash && std::ranges::equal(get(id), sequence)) return {id, false};
      slot = (slot + 1) & (slots_.size() - 1);
    }
    const auto id = static_cast<uint32_t>(hashes_.size());
    slots_[slot] = id;
    hashes_.push_back(hash);
    numbers_.insert(numbers_.end(), sequence.begin(), sequence.end());
    from_.push_back(static_cast<uint32_t>(numbers_.size()));
    if (hashes_.size() * 2 > slots_.size()) grow();
    return {id, true};
  }

  // Valid until the next intern().
  std::span<const uint32_t> get(uint32_t id) const {
    return std::span(numbers_).subspan(from_[id], from_[id + 1] - from_[id]);
  }

  size_t size() const { return hashes_.size(); }
  size_t numbers_count() const { return numbers_.size(); }
  size_t memory_bytes() const {
    return (slots_.capacity() + numbers_.capacity() + from_.capacity()) * sizeof(uint32_t) +
           hashes_.capacity() * sizeof(uint64_t);
  }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;

  static uint64_t hash_of(std::span<const uint32_t> sequence) {
    uint64_t hash = 0x9E3779B97F4A7C15ULL ^ sequence.size();
    for (const uint32_t number : sequence) {
      hash = (hash ^ number) * 0xD6E8FEB86659FD93ULL;
      hash ^= hash >> 32;
    }
    return hash;
  }

  void grow() {
    slots_.assign(slots_.size() * 4, kNone);
    for (uint32_t id = 0; id < hashes_.size(); ++id) {
      size_t slot = hashes_[id] & (slots_.size() - 1);
      while (slots_[slot] != kNone)
        slot = (slot + 1) & (slots_.size() - 1);
      slots_[slot] = id;
    }
  }

  std::vector<uint32_t> slots_;  // ids; as many as a power of two
  std::vector<uint64_t> hashes_;
  std::vector<uint32_t> numbers_;
  std::vector<uint32_t> from_{0};
};

// The ids of values that its user stores, by the hash of the value.
class IdTable {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  // The id of a value with this hash for which `is_it(id)` holds; kNone if there is none.
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

  // The value is not in the table yet.
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

// A set of numbers that is cleared often: each clear() only begins a new round.
class SeenSet {
 public:
  void clear() {
    ++round_;
    count_ = 0;
  }

  // Returns whether it was not in the set yet.
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
    uint64_t round = 0;  // the slot is free in all other rounds
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
