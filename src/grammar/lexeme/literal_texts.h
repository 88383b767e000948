// The automaton of a list of texts. It is built text by text in their order, and what no later text
// can change is made minimal at once (Daciuk et al., 2000): so it never has more states than it has
// in the end and one path, and a list that needs too many ends the work at that text. Pure.
#pragma once

#include <span>
#include <string_view>

#include "base/result.h"
#include "grammar/lexeme/give_up.h"
#include "grammar/lexeme/range_dfa.h"

namespace windrow::grammar {

// Exactly these texts, minimal. Bytes that are no UTF-8 are left out. kInvalid: it needs more than
// `states_max` states. kUnavailable: `give_up` returned true.
Result<RangeDfa> literals_dfa(std::span<const std::string_view> texts, size_t states_max,
                              const GiveUp& give_up);

}  // namespace windrow::grammar
