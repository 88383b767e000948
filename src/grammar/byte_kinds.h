// ByteKinds: which characters a set of texts has, roughly: the plain ones of ASCII one by one, all
// others by their first byte, a few of these together. Two sets that have no kind in common have no
// character in common. Pure.
#pragma once

#include <bit>
#include <cstdint>

namespace windrow::grammar {

class ByteKinds {
 public:
  constexpr ByteKinds() = default;

  static constexpr ByteKinds all() {
    ByteKinds kinds;
    kinds.low_ = kinds.high_ = ~uint64_t{0};
    return kinds;
  }

  // The kind of a character that begins with this byte; none where no plain one does.
  static constexpr ByteKinds of(uint8_t byte) {
    ByteKinds kinds;
    unsigned bit = 128;
    if (byte >= 0x20 && byte < 0x7F) bit = byte - 0x20U;
    if (byte >= 0xC2 && byte <= 0xF4) bit = 95U + (byte - 0xC2U) % 33U;
    if (bit < 64) kinds.low_ = uint64_t{1} << bit;
    if (bit >= 64 && bit < 128) kinds.high_ = uint64_t{1} << (bit - 64);
    return kinds;
  }

  constexpr bool empty() const { return (low_ | high_) == 0; }
  constexpr int count() const { return std::popcount(low_) + std::popcount(high_); }
  constexpr ByteKinds operator|(ByteKinds other) const {
    other.low_ |= low_;
    other.high_ |= high_;
    return other;
  }
  constexpr ByteKinds operator&(ByteKinds other) const {
    other.low_ &= low_;
    other.high_ &= high_;
    return other;
  }
  friend constexpr bool operator==(const ByteKinds&, const ByteKinds&) = default;

 private:
  uint64_t low_ = 0;
  uint64_t high_ = 0;
};

}  // namespace windrow::grammar
