// What holds of plain characters in the states of an automaton. Pure.
//
// Plain characters are those that stand in a JSON string as they are: in UTF-8, from U+0020 on, but
// for the quote, the backslash and U+007F, which some grammars leave out. Most tokens of a
// vocabulary consist of them, and most states of lexemes let either all of them pass or few.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "grammar/byte_kinds.h"
#include "grammar/lexeme/byte_dfa.h"

namespace windrow::grammar {

// Whether a plain character begins with this byte.
constexpr bool begins_plain(uint8_t byte) {
  return (byte >= 0x20 && byte < 0x7F && byte != '"' && byte != '\\') ||
         (byte >= 0xC2 && byte <= 0xF4);
}

// Line breaks, of which a token may have some behind the end of a text (Matcher::accept). No plain
// character is one.
constexpr std::string_view kLineBreaks = "\r\n";

constexpr bool is_line_break(char byte) {
  return kLineBreaks.find(byte) != std::string_view::npos;
}

struct PlainFacts {
  static constexpr uint16_t kForever = UINT16_MAX;

  // Every text of at most so many plain characters goes on here; with `exactly`, no longer one.
  uint16_t free_chars = 0;
  bool exactly = false;

  // Bit i, of 1 to 3: behind any i bytes that continue a character, it is kForever.
  uint8_t free_behind = 0;

  // Texts of plain characters of other kinds go on, however long.
  ByteKinds dangers = ByteKinds::all();
  ByteKinds dangers_here = ByteKinds::all();  // the same for one character

  bool loops = false;     // every plain character leads back here
  bool one_char = false;  // one character, but for dangers_here, and the lexeme is over
  bool goes_on = false;   // it may be longer at all

  bool any_char() const { return one_char && dangers_here.empty(); }
};

// Of each state.
std::vector<PlainFacts> find_plain_facts(const ByteDfa& dfa);

}  // namespace windrow::grammar
