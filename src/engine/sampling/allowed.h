// Allowed: the logits of a row without the tokens that a mask takes out, as if the vocabulary had
// not got them. Pure.
//
// A mask is a bit for each token, bit i of word w for token 64 * w + i. Few tokens are gathered, so
// that all that follows looks at few; many are copied, with the others infinitely unlikely. Which
// of the two depends on the mask alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/host/types.h"

namespace windrow::engine {

// Used by one thread at a time; keeps its memory from row to row.
class Allowed {
 public:
  // What is left, in the order of tokens; valid until the next call. Nothing is left of a mask
  // without bits.
  std::span<const float> apply(std::span<const float> logits, std::span<const uint64_t> mask);

  // The token whose logit stands at this place of what is left.
  Token token_at(size_t place) const {
    return gathered_ ? tokens_[place] : static_cast<Token>(place);
  }

 private:
  void gather(std::span<const float> logits, std::span<const uint64_t> mask);
  void copy(std::span<const float> logits, std::span<const uint64_t> mask);

  std::vector<float> logits_;
  std::vector<Token> tokens_;
  bool gathered_ = false;
};

// The only token of a mask, if it has just one.
std::optional<Token> only_token(std::span<const uint64_t> mask);

}  // namespace windrow::engine
