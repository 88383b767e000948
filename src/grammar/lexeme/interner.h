// Interner: gives equal sequences of numbers equal ids, 0, 1, 2 and so on. An open hash table over
// one array; used where automata are built, a thread each.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace windrow::grammar {

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

}  // namespace windrow::grammar
