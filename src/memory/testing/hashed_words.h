// An embedding model for tests: texts with words in common are near each other. Pure.
#pragma once

#include <cmath>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "memory/models/memory_models.h"

namespace windrow::memory::testing {

// A vector of length 1 with so many numbers: each word adds or takes one at a place that its hash
// decides.
inline std::vector<float> hashed_words(std::string_view text, size_t dimension) {
  std::vector<float> vector(dimension);
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find_first_of(" \t\n", at), text.size());
    if (end > at) {
      const uint64_t hash = hash64(text.substr(at, end - at));
      vector[hash % dimension] += (hash >> 63) != 0 ? 1.0F : -1.0F;
    }
    at = end + 1;
  }
  float squares = 0;
  for (const float number : vector)
    squares += number * number;
  if (squares == 0) vector.front() = squares = 1;
  for (float& number : vector)
    number /= std::sqrt(squares);
  return vector;
}

// For ScriptedModels::on_embed.
inline std::function<EmbedOutcome(const std::vector<std::string>&)> embed_by_hashed_words(
    size_t dimension) {
  return [dimension](const std::vector<std::string>& texts) -> EmbedOutcome {
    std::vector<std::vector<float>> vectors;
    vectors.reserve(texts.size());
    for (const std::string& text : texts)
      vectors.push_back(hashed_words(text, dimension));
    return vectors;
  };
}

}  // namespace windrow::memory::testing
