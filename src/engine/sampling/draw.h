// Draws a token from a distribution. Pure.
//
// The n-th token of an answer is drawn with hash(seed, n), not with a generator that is read in
// order: so it depends on the row alone, whatever runs beside it and however often it was
// preempted. The distribution is walked in the order of tokens: where two logits are nearly equal
// and arithmetic swaps them, the draw stays the same.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/host/types.h"
#include "engine/sampling/candidates.h"
#include "engine/sampling/logit_blocks.h"

namespace windrow::engine {

// A number in [0, 1).
double unit_draw(uint64_t seed, int32_t index);

// From the range of a whole vocabulary that the filters keep. `sums` is working memory.
Token draw_from(const LogitBlocks& blocks, const LogitRange& kept, float temperature, double unit,
                std::vector<double>& sums);

// From a list with probabilities, not empty. Sorts it by token.
Token draw_from(std::vector<Candidate>& candidates, double unit);

// Sets the probabilities of a list, not empty, at a temperature.
void set_probabilities(std::vector<Candidate>& candidates, float temperature);

}  // namespace windrow::engine
