// Draw: a token out of a distribution. Pure.
//
// The n-th token of an answer is drawn by hash(seed, n): draws are counted, not streamed, so they
// depend on the row alone, whatever runs beside it and however often it was preempted. The
// distribution is walked in the order of tokens: where two logits are nearly equal and arithmetic
// swaps them, the draw stays what it was.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/host/types.h"
#include "engine/sampling/candidates.h"
#include "engine/sampling/kept.h"
#include "engine/sampling/logit_blocks.h"

namespace windrow::engine {

// In [0, 1).
double unit_draw(uint64_t seed, int32_t index);

// From what is left of a whole vocabulary. `sums` is memory to work in.
Token draw_from(const LogitBlocks& blocks, const Kept& kept, float temperature, double unit,
                std::vector<double>& sums);

// From a list whose probabilities are set; at least one. Sorts it by token.
Token draw_from(std::vector<Candidate>& candidates, double unit);

// Sets the probabilities of a list, at least one, at a temperature.
void set_probabilities(std::vector<Candidate>& candidates, float temperature);

}  // namespace windrow::engine
