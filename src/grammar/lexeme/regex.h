// Regular expressions of JSON Schema (ECMA-262, with the `u` flag's meaning of code points), as
// automata. The subset that is regular and needs no tables of Unicode: characters, escapes,
// classes, groups, alternatives, quantifiers, anchors at the ends of alternatives. What is not in
// it is refused by name and position: look-around, back references, \b, \p{...}. Pure.
#pragma once

#include <string_view>

#include "base/result.h"
#include "grammar/lexeme/char_dfa.h"

namespace windrow::grammar {

enum class RegexMeaning : uint8_t {
  kSearch,  // somewhere in the text, as `pattern` means it
  kWhole,   // all of the text
};

// kInvalid: what is wrong and at which character of the pattern; or that it needs too many states.
Result<CharDfa> regex_dfa(std::string_view pattern, RegexMeaning meaning,
                          size_t states_max = CharDfa::kStatesMax);

}  // namespace windrow::grammar
