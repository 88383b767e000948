// Embeddings and scores through plain libllama calls, one input at a time in a context of its own.
// Nothing of the engine is in it.
#pragma once

#include <llama.h>

#include <vector>

#include "exactness/plain_row.h"

namespace windrow::exactness {

struct PlainEmbeddingOptions {
  enum llama_pooling_type pooling = LLAMA_POOLING_TYPE_MEAN;
  bool exact = true;  // F32 cache, no flash attention; otherwise libllama's defaults
};

// As the model gave it: an embedding of any length, or the scores of rank pooling.
std::vector<float> plain_embedding(const PlainModel& model, const std::vector<llama_token>& input,
                                   const PlainEmbeddingOptions& options);

double cosine(const std::vector<float>& a, const std::vector<float>& b);

}  // namespace windrow::exactness
