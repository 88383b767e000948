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
// number that is too wide for it costs its block alone. What is kept for growth is at most an
// eighth of the whole.
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

  // The memory that its numbers take, what is kept for more included.
  size_t bytes() const;

 private:
  enum class Width : uint8_t { kU8, kI8, kU16, kI16, kI32 };

  // What a type needs to hold some numbers. That of two lists is that of each, combined by OR.
  struct Need {
    uint32_t bits = 0;    // all bits of the numbers: the unsigned types
    uint32_t folded = 0;  // all bits of the numbers, complemented where negative: the signed ones
    Width width() const;
    friend bool operator==(const Need&, const Need&) = default;
  };

  struct Block {
    Need need;
    Width width = Width::kU8;
    size_t size = 0;  // numbers
    std::vector<uint8_t> bytes;
  };

  static size_t bytes_per_value(Width width) {
    return width == Width::kI32 ? 4 : width < Width::kU16 ? 1 : 2;
  }
  static Need need_of(std::span<const int32_t> values);
  static void write(Width width, std::span<const int32_t> values, uint8_t* to);
  static void read(const Block& block, size_t first, std::span<int32_t> values);
  static void widen(Block& block, Width width);
  void grow(Block& block, size_t values) const;
  void append_to_block(Block& block, std::span<const int32_t> values);

  std::vector<Block> blocks_;
  size_t size_ = 0;
};

}  // namespace windrow::session
