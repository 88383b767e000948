#include "session/rows/packed_ints.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/ensure.h"

namespace windrow::session {
namespace {

// Numbers that are looked at, and then copied while they are still in the nearest cache.
constexpr size_t kPieceValues = 4096;

template <class T>
void write_as(std::span<const int32_t> values, uint8_t* to) {
  for (const int32_t value : values) {
    const auto narrow = static_cast<T>(value);
    std::memcpy(to, &narrow, sizeof(T));
    to += sizeof(T);
  }
}

template <class T>
void read_as(const uint8_t* from, std::span<int32_t> values) {
  for (int32_t& value : values) {
    T narrow;
    std::memcpy(&narrow, from, sizeof(T));
    value = narrow;
    from += sizeof(T);
  }
}

}  // namespace

PackedInts::Width PackedInts::Need::width() const {
  if (bits <= 0xFF) return Width::kU8;
  if (folded <= 0x7F) return Width::kI8;
  if (bits <= 0xFFFF) return Width::kU16;
  if (folded <= 0x7FFF) return Width::kI16;
  return Width::kI32;
}

// Not a minimum and a maximum: every vector unit can OR, and few can compare numbers of 32 bits.
PackedInts::Need PackedInts::need_of(std::span<const int32_t> values) {
  uint32_t bits = 0;
  uint32_t folded = 0;
  for (const int32_t value : values) {
    bits |= static_cast<uint32_t>(value);
    folded |= static_cast<uint32_t>(value < 0 ? ~value : value);
  }
  return {.bits = bits, .folded = folded};
}

void PackedInts::write(Width width, std::span<const int32_t> values, uint8_t* to) {
  switch (width) {
    case Width::kU8:
    case Width::kI8:
      return write_as<uint8_t>(values, to);
    case Width::kU16:
    case Width::kI16:
      return write_as<uint16_t>(values, to);
    case Width::kI32:
      std::memcpy(to, values.data(), values.size_bytes());
  }
}

void PackedInts::read(const Block& block, size_t first, std::span<int32_t> values) {
  const uint8_t* const from = block.bytes.data() + first * bytes_per_value(block.width);
  switch (block.width) {
    case Width::kU8:
      return read_as<uint8_t>(from, values);
    case Width::kI8:
      return read_as<int8_t>(from, values);
    case Width::kU16:
      return read_as<uint16_t>(from, values);
    case Width::kI16:
      return read_as<int16_t>(from, values);
    case Width::kI32:
      std::memcpy(values.data(), from, values.size_bytes());
  }
}

void PackedInts::widen(Block& block, Width width) {
  std::vector<uint8_t> wide(block.size * bytes_per_value(width));
  std::array<int32_t, kPieceValues> piece;
  for (size_t first = 0; first < block.size; first += kPieceValues) {
    const std::span values(piece.data(), std::min(kPieceValues, block.size - first));
    read(block, first, values);
    write(width, values, wide.data() + first * bytes_per_value(width));
  }
  block.bytes = std::move(wide);
  block.width = width;
}

// Makes room in a block for `values` numbers in all. A vector's own growth, by half or by all of
// it, would waste much: most sessions are small. A long list gets its blocks at once.
void PackedInts::grow(Block& block, size_t values) const {
  if (values * bytes_per_value(block.width) <= block.bytes.capacity()) return;
  const size_t more = std::max(values, size_) / 8;
  block.bytes.reserve(std::min(values + more, kBlockValues) * bytes_per_value(block.width));
}

void PackedInts::append_to_block(Block& block, std::span<const int32_t> values) {
  const Need need = need_of(values);
  block.need.bits |= need.bits;
  block.need.folded |= need.folded;
  if (const Width width = block.need.width(); width != block.width) {
    if (block.size == 0) block.width = width;
    if (block.size > 0) widen(block, width);
  }
  const size_t each = bytes_per_value(block.width);
  grow(block, block.size + values.size());
  block.bytes.resize((block.size + values.size()) * each);
  write(block.width, values, block.bytes.data() + block.size * each);
  block.size += values.size();
  size_ += values.size();
}

void PackedInts::append(std::span<const int32_t> values) {
  while (!values.empty()) {
    if (blocks_.empty() || blocks_.back().size == kBlockValues) {
      if (blocks_.size() == blocks_.capacity())
        blocks_.reserve(blocks_.size() + 1 + blocks_.size() / 8);
      blocks_.emplace_back();
    }
    Block& block = blocks_.back();
    const size_t fitting = std::min(values.size(), kBlockValues - block.size);
    grow(block, block.size + fitting);
    const size_t count = std::min(fitting, kPieceValues);
    append_to_block(block, values.first(count));
    values = values.subspan(count);
  }
}

void PackedInts::read(size_t first, std::span<int32_t> values) const {
  ENSURE(first <= size_ && values.size() <= size_ - first,
         "numbers {} to {} are read of a list of {}", first, first + values.size(), size_);
  while (!values.empty()) {
    const Block& block = blocks_[first / kBlockValues];
    const size_t begin = first % kBlockValues;
    const size_t count = std::min(values.size(), block.size - begin);
    read(block, begin, values.first(count));
    first += count;
    values = values.subspan(count);
  }
}

void PackedInts::truncate(size_t size) {
  if (size >= size_) return;
  size_ = size;
  blocks_.resize((size + kBlockValues - 1) / kBlockValues);
  if (blocks_.empty()) return;
  Block& last = blocks_.back();
  last.size = size - (blocks_.size() - 1) * kBlockValues;
  last.bytes.resize(last.size * bytes_per_value(last.width));
}

void PackedInts::shrink_to_fit() {
  blocks_.shrink_to_fit();
  if (!blocks_.empty()) blocks_.back().bytes.shrink_to_fit();
}

size_t PackedInts::bytes() const {
  size_t bytes = blocks_.capacity() * sizeof(Block);
  for (const Block& block : blocks_)
    bytes += block.bytes.capacity();
  return bytes;
}

}  // namespace windrow::session
