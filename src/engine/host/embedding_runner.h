// EmbeddingRunner: a loaded model reduced to the one thing that embedding and reranking need of it:
// many inputs in, a vector for each out. The engine above knows no library; implementations are
// engine/llama/llama_embedding_runner.h and, for tests, engine/testing/scripted_embedding_runner.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/result.h"
#include "engine/host/types.h"

namespace windrow::engine {

// How the vectors of an input's tokens become one.
enum class Pooling : uint8_t {
  kMean,  // their mean
  kCls,   // that of the first token
  kLast,  // that of the last token
  kRank,  // a classification head over one of them: scores, no embedding
};

// "mean", "cls", "last", "rank".
std::string_view to_string(Pooling pooling);
std::optional<Pooling> parse_pooling(std::string_view name);

struct EmbeddingLimits {
  int32_t batch_tokens_max = 0;  // of all inputs of a pass
  int32_t inputs_max = 0;        // in one pass

  // Of one input. It is more than batch_tokens_max only where can_chunk; an input longer than that
  // has a pass to itself.
  int32_t input_tokens_max = 0;

  int32_t dimensions = 0;  // numbers in an embedding; 0 with kRank
  int32_t scores = 0;      // numbers with kRank, the first is the relevance; otherwise 0
  int32_t vocabulary_size = 0;
  Pooling pooling = Pooling::kMean;
  bool can_chunk = false;  // of kLast alone: others need all tokens of an input at once
};

// Numbers of the vector that each input becomes.
inline int32_t width(const EmbeddingLimits& limits) {
  return limits.pooling == Pooling::kRank ? limits.scores : limits.dimensions;
}

// Used by one thread at a time.
class EmbeddingRunner {
 public:
  virtual ~EmbeddingRunner() = default;

  virtual const EmbeddingLimits& limits() const = 0;

  // One pass over all inputs, none of them empty. They must keep to limits(); that is the caller's
  // promise, checked with ENSURE. Nothing is remembered from pass to pass.
  //   kInvalid      the pass failed; others may not
  //   kUnavailable  the model can run nothing any more
  virtual Result<void> run(std::span<const std::span<const Token>> inputs) = 0;

  // Of the index-th input of the last pass, as the model gave it (an embedding of any length);
  // width(limits()) numbers, valid until the next call of run.
  virtual std::span<const float> embedding(size_t index) const = 0;
};

}  // namespace windrow::engine
