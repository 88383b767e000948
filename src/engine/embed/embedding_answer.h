// Turns a model's vectors into the answer to a request. Pure.
#pragma once

#include <vector>

#include "engine/embed/embedding_loop.h"
#include "llm/answer.h"
#include "llm/request.h"

namespace windrow::engine {

// Keeps the first `dimensions` numbers (Matryoshka embeddings, Kusupati et al., 2022) and scales
// them to length 1. A vector of zeros stays one.
void normalise(std::vector<float>& embedding, size_t dimensions);

// The documents by their first score, the highest first; equal ones in their order in the request.
std::vector<llm::RankedDocument> rank(const llm::Request& request,
                                      const std::vector<std::vector<float>>& scores);

// The whole answer. `prompt_tokens`: of all inputs together.
llm::Answer embedding_answer(const llm::Request& request, EmbeddingResult result,
                             int32_t prompt_tokens);

}  // namespace windrow::engine
