// ScriptedEmbeddingRunner: an EmbeddingRunner whose model is a hash. A vector depends on every
// token of its input, in order, and on nothing else, so an embedder that gives an input the tokens
// or the vector of another one is detected. It fails on request.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "engine/host/embedding_runner.h"

namespace windrow::engine::testing {

// The model: numbers between -1 and 1.
std::vector<float> scripted_embedding(std::span<const Token> tokens, int32_t width);

class ScriptedEmbeddingRunner final : public EmbeddingRunner {
 public:
  using Inputs = std::span<const std::span<const Token>>;

  explicit ScriptedEmbeddingRunner(const EmbeddingLimits& limits) : limits_(limits) {}

  const EmbeddingLimits& limits() const override { return limits_; }
  Result<void> run(Inputs inputs) override;
  std::span<const float> embedding(size_t index) const override { return outputs_.at(index); }

  // Asked before every pass; an error fails it.
  std::function<std::optional<Error>(Inputs)> fault;

  // Called with every pass that is about to run.
  std::function<void(Inputs)> on_pass;

  // Applied to the vector of each input.
  std::function<void(std::span<const Token>, std::vector<float>&)> spoil;

 private:
  EmbeddingLimits limits_;
  std::vector<std::vector<float>> outputs_;
};

}  // namespace windrow::engine::testing
