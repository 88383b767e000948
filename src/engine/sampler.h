// The choice of the next token: logits -> distribution -> draw. Pure.
//
// The filters are those of llama.cpp in its order: top_k, top_p, min_p, then temperature, so that a
// row here keeps the candidates it keeps there. Draws come from a counter, not from a stream: the
// n-th token of a row is drawn by hash(seed, n), whatever runs beside it and however often it was
// preempted.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/types.h"
#include "llm/request.h"

namespace windrow::engine {

struct Candidate {
  Token token = 0;
  float logit = 0;
  double probability = 0;
};

// Logits are usable when none is NaN and the largest is finite: weights that overflow their number
// format give infinities too.

// The token with the largest logit, the lowest of equal ones. -1 when the logits are not usable.
Token most_likely(std::span<const float> logits);

// log softmax(logits)[token]: what the model thinks, before any filter or temperature.
double log_probability(std::span<const float> logits, Token token);

// What temperature > 0 draws from: the candidates that pass the filters, with probabilities that
// add up to 1, most likely first. Empty when the logits are not usable.
std::vector<Candidate> distribution(std::span<const float> logits, const llm::Sampling& sampling);

// Temperature 0 takes the most likely token. `index` counts the row's sampled tokens from 0.
// -1 when the logits are not usable.
Token sample(std::span<const float> logits, const llm::Sampling& sampling, int32_t index);

}  // namespace windrow::engine
