// Regular expressions of JSON Schema (ECMA-262 with the `u` flag) as automata: the subset that is
// regular and needs no tables of Unicode, namely characters, escapes, classes, groups,
// alternatives, quantifiers and anchors. Everything else is refused by name and position:
// look-around, back references, \b, \p{...}. Pure, any thread.
#pragma once

#include <string_view>

#include "base/result.h"
#include "grammar/lexeme/char_dfa.h"

namespace windrow::grammar {

enum class RegexMeaning : uint8_t {
  kSearch,  // found somewhere in the text, as the keyword `pattern` means it
  kWhole,   // matches the whole text
};

// kInvalid: a syntax error or an unsupported construct, with its position in the pattern; or it
// has more than 250,000 bytes or needs more than `states_max` states. kUnavailable: `give_up`
// returned true.
Result<CharDfa> regex_dfa(std::string_view pattern, RegexMeaning meaning,
                          size_t states_max = CharDfa::kStatesMax, const GiveUp& give_up = {});

}  // namespace windrow::grammar
