// What automata need whose texts must differ from each other: the number of texts from each state,
// and a first state that is only first. Pure, any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "grammar/lexeme/byte_dfa.h"

namespace windrow::grammar {

constexpr uint32_t kManyTexts = UINT32_MAX;  // so many or more, or without end

// How many texts lead from each state to an end.
std::vector<uint32_t> text_counts(const ByteDfa& dfa);

// The same texts, with a first state that no byte leads to.
std::shared_ptr<const ByteDfa> with_first_state(const std::shared_ptr<const ByteDfa>& dfa);

}  // namespace windrow::grammar
