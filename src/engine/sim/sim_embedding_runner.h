// SimEmbeddingRunner: an EmbeddingRunner that takes the time a model would take. The vector of a
// text is the sum of those of its words: equal texts have equal vectors, and texts that share words
// are nearer than others. As a reranker it scores a document by how near it is to the query.
#pragma once

#include <memory>
#include <vector>

#include "base/clock.h"
#include "engine/host/embedding_runner.h"
#include "engine/sim/pause.h"
#include "engine/sim/sim_options.h"
#include "engine/sim/sim_vocabulary.h"

namespace windrow::engine::sim {

class SimEmbeddingRunner final : public EmbeddingRunner {
 public:
  // `vocabulary` and `clock` outlive it. `pooling`: kRank makes it a reranker; the others are
  // alike.
  SimEmbeddingRunner(const SimVocabulary& vocabulary, const SimOptions& model, Pooling pooling,
                     const Clock& clock, std::unique_ptr<Pause> pause);

  const EmbeddingLimits& limits() const override { return limits_; }
  Result<void> run(std::span<const std::span<const Token>> inputs) override;
  std::span<const float> embedding(size_t index) const override;

 private:
  void add_up(std::span<const Token> tokens, std::span<float> sum) const;
  float score(std::span<const Token> pair) const;

  const SimOptions model_;
  const Clock& clock_;
  const std::unique_ptr<Pause> pause_;
  EmbeddingLimits limits_;
  std::vector<float> words_;  // a vector for each entry of the vocabulary
  std::vector<float> outputs_;
};

}  // namespace windrow::engine::sim
