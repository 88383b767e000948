// EmbeddingRunner: a loaded model reduced to what embedding and reranking need of it: many inputs
// in, a vector for each out. The engine knows no library beyond this interface. Implementations:
// engine/llama/llama_embedding_runner.h, engine/sim/sim_runner.h and, for tests,
// engine/testing/scripted_embedding_runner.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/result.h"
#include "engine/host/types.h"

namespace windrow::engine {

// How the vectors of an input's tokens are combined.
enum class Pooling : uint8_t {
  kMean,  // their mean
  kCls,   // the first token's
  kLast,  // the last token's
  kRank,  // a classification head over one of them: scores, not an embedding
};

// The names "mean", "cls", "last" and "rank".
constexpr std::string_view to_string(Pooling pooling) {
  switch (pooling) {
    case Pooling::kMean:
      return "mean";
    case Pooling::kCls:
      return "cls";
    case Pooling::kLast:
      return "last";
    case Pooling::kRank:
      return "rank";
  }
  return "unknown";
}

constexpr std::optional<Pooling> parse_pooling(std::string_view name) {
  for (const Pooling pooling : {Pooling::kMean, Pooling::kCls, Pooling::kLast, Pooling::kRank}) {
    if (to_string(pooling) == name) return pooling;
  }
  return std::nullopt;
}

struct EmbeddingLimits {
  int32_t batch_tokens_max = 0;  // tokens in one pass
  int32_t inputs_max = 0;        // inputs in one pass

  // Tokens in one input. More than batch_tokens_max only with can_chunk; an input longer than that
  // has a pass to itself.
  int32_t input_tokens_max = 0;

  int32_t dimensions = 0;  // of an embedding; 0 with kRank
  int32_t scores = 0;      // with kRank: how many numbers, the first is the relevance; else 0
  int32_t vocabulary_size = 0;
  Pooling pooling = Pooling::kMean;
  bool can_chunk = false;  // with kLast only: others need all tokens of an input in one pass
};

// The size of the vector of each input.
inline int32_t width(const EmbeddingLimits& limits) {
  return limits.pooling == Pooling::kRank ? limits.scores : limits.dimensions;
}

// Used by one thread at a time.
class EmbeddingRunner {
 public:
  virtual ~EmbeddingRunner() = default;

  virtual const EmbeddingLimits& limits() const = 0;

  // One pass over all inputs, none of them empty. Blocks until it is done. The caller keeps to
  // limits(), which is checked with ENSURE. Passes are independent of each other.
  //   kInvalid      the pass failed; another one may succeed
  //   kUnavailable  the model can run nothing any more
  virtual Result<void> run(std::span<const std::span<const Token>> inputs) = 0;

  // The vector of the index-th input of the last pass, not normalised: width(limits()) numbers,
  // valid until the next run().
  virtual std::span<const float> embedding(size_t index) const = 0;
};

}  // namespace windrow::engine
