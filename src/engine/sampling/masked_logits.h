// MaskedLogits: the logits of a row without the tokens that a mask excludes, as if the vocabulary
// did not have them. Pure.
//
// A mask has a bit for each token: bit i of word w is token 64 * w + i. Few tokens are gathered, so
// that all further work looks at few; many are copied, the others set to minus infinity. Which of
// the two depends on the mask alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/host/types.h"

namespace windrow::engine {

// Used by one thread at a time; keeps its memory from row to row.
class MaskedLogits {
 public:
  // The logits of the mask's tokens, in the order of tokens; empty for a mask without bits. Valid
  // until the next call.
  std::span<const float> apply(std::span<const float> logits, std::span<const uint64_t> mask);

  // The token of an index of that result.
  Token token_at(size_t index) const {
    return gathered_ ? tokens_[index] : static_cast<Token>(index);
  }

 private:
  void gather(std::span<const float> logits, std::span<const uint64_t> mask);
  void copy(std::span<const float> logits, std::span<const uint64_t> mask);

  std::vector<float> logits_;
  std::vector<Token> tokens_;
  bool gathered_ = false;
};

// The token of a mask that has exactly one.
std::optional<Token> only_token(std::span<const uint64_t> mask);

}  // namespace windrow::engine
