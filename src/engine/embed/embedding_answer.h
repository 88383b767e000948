// From a model's vectors to the answer to a request: pure functions.
#pragma once

#include <vector>

#include "engine/embed/embedding_loop.h"
#include "llm/answer.h"
#include "llm/request.h"

namespace windrow::engine {

// The first `dimensions` numbers, scaled to length 1 (Matryoshka embeddings, Kusupati et al.,
// 2022, for fewer than all). A vector of zeros stays one.
void normalise(std::vector<float>& embedding, size_t dimensions);

// Documents by their first score, the highest first; of equal ones the one that came first.
std::vector<llm::RankedDocument> rank(const llm::Request& request,
                                      const std::vector<std::vector<float>>& scores);

// The whole answer; `prompt_tokens` of all inputs together.
llm::Answer embedding_answer(const llm::Request& request, EmbeddingResult result,
                             int32_t prompt_tokens);

}  // namespace windrow::engine
