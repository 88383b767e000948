// PlainFacts: what holds of plain characters in a state of an automaton. ByteKinds: sets of
// characters, roughly. Pure, any thread.
//
// Plain characters are those that a JSON string has as they are: all from U+0020 on except the
// quote, the backslash and U+007F, which some grammars leave out. Most tokens of a vocabulary
// consist of them, and most states of lexemes allow either all of them or few.
#pragma once

#include <bit>
#include <cstdint>
#include <string_view>
#include <vector>

#include "grammar/lexeme/byte_dfa.h"

namespace windrow::grammar {

// A set of characters, roughly: plain characters of ASCII one by one, all others by their first
// byte, several first bytes as one kind. Two sets that have no kind in common have no character in
// common.
class ByteKinds {
 public:
  constexpr ByteKinds() = default;

  static constexpr ByteKinds all() {
    ByteKinds kinds;
    kinds.low_ = kinds.high_ = ~uint64_t{0};
    return kinds;
  }

  // The kind of a character that begins with this byte; empty if no plain character does.
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

// Whether a plain character begins with this byte.
constexpr bool begins_plain(uint8_t byte) {
  return (byte >= 0x20 && byte < 0x7F && byte != '"' && byte != '\\') ||
         (byte >= 0xC2 && byte <= 0xF4);
}

// Line breaks, which a token may have after the end of a text (Matcher::accept). None is a plain
// character.
constexpr std::string_view kLineBreaks = "\r\n";

constexpr bool is_line_break(char byte) {
  return kLineBreaks.find(byte) != std::string_view::npos;
}

struct PlainFacts {
  static constexpr uint16_t kForever = UINT16_MAX;

  // Every text of at most so many plain characters is allowed here; with `exactly`, no longer one.
  uint16_t free_chars = 0;
  bool exactly = false;

  // Bit i, of 1 to 3: after any i bytes that continue a character, free_chars is kForever.
  uint8_t free_behind = 0;

  // Texts of plain characters of all other kinds are allowed, however long.
  ByteKinds dangers = ByteKinds::all();
  ByteKinds dangers_here = ByteKinds::all();  // the same for one character

  bool loops = false;     // every plain character leads back here
  bool one_char = false;  // one character, except dangers_here, and the lexeme is over
  bool goes_on = false;   // a byte can follow

  bool any_char() const { return one_char && dangers_here.empty(); }
};

// The facts of each state of `dfa`.
std::vector<PlainFacts> find_plain_facts(const ByteDfa& dfa);

}  // namespace windrow::grammar
