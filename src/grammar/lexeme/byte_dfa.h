// ByteDfa: a regular set of byte strings as tables to run. Trimmed, like CharDfa. Immutable, shared
// between grammars and threads.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "grammar/lexeme/char_dfa.h"

namespace windrow::grammar {

struct ByteDfa {
  using State = uint32_t;
  static constexpr State kDead = UINT32_MAX;

  // State 0 is the first one.
  State next(State state, uint8_t byte) const {
    return next_of[static_cast<size_t>(state) * classes_count + class_of[byte]];
  }

  size_t states_count() const { return accepting.size(); }
  bool contains(std::string_view bytes) const;

  std::array<uint8_t, 256> class_of{};  // bytes that no state tells apart have one class
  uint32_t classes_count = 0;           // 1 to 256
  std::vector<State> next_of;           // [state * classes_count + class]
  std::vector<bool> accepting;
};

// The tables of an automaton over bytes. `dfa` is trimmed and not empty.
std::shared_ptr<const ByteDfa> byte_dfa(const RangeDfa& dfa);

// The texts of `dfa` in UTF-8. `dfa` is not empty. Its states come first, by the same numbers, and
// then those within characters; so also below.
std::shared_ptr<const ByteDfa> utf8_dfa(const CharDfa& dfa);

// The texts of `dfa` as they are written between the quotes of a JSON string: `"`, `\` and control
// characters below U+0020 escaped, in the short form (\n) or as \u000a in either case; everything
// else plain. Any text (CharDfa::any_text) and any single character may have all escapes of JSON,
// \u with pairs of surrogates included, because there it costs nothing. `dfa` is not empty. The
// result is cached for the automaton and its copies. Thread-safe.
std::shared_ptr<const ByteDfa> json_string_dfa(const CharDfa& dfa);

// Shared: any text between quotes, and one character of it.
std::shared_ptr<const ByteDfa> json_any_string_dfa();
std::shared_ptr<const ByteDfa> json_any_character_dfa();

}  // namespace windrow::grammar
