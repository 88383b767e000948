// PackedInts: a long list of small whole numbers in as few bytes as they need. Expert ids of most
// models fit a byte, and servers send four for each. Pure; appended to by one thread, and read by
// any once nothing is appended any more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace windrow::session {

// Blocks of kBlockValues numbers, each with the narrowest integer type that holds them all: a
// number that is too wide for it costs its block alone.
class PackedInts {
 public:
  static constexpr size_t kBlockValues = size_t{1} << 15;

  void append(std::span<const int32_t> values);

  size_t size() const { return size_; }

  // Copies numbers [first, first + values.size()), which are there.
  void read(size_t first, std::span<int32_t> values) const;

  // Removes all but the first `size`.
  void truncate(size_t size);

  // Gives back memory that was kept for more.
  void shrink_to_fit();

  // The memory that its numbers take.
  size_t bytes() const;

 private:
  enum class Width : uint8_t { kU8, kI8, kU16, kI16, kI32 };
  struct Block {
    Width width = Width::kU8;
    std::vector<uint8_t> bytes;
    size_t size() const;
  };

  std::vector<Block> blocks_;
  size_t size_ = 0;
};

}  // namespace windrow::session
