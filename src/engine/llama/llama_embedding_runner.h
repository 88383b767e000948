// LlamaEmbeddingRunner: an EmbeddingRunner with a libllama context of its own. Before each call it
// checks everything over which libllama would end the process (tests/facts has the list). Threads
// as EmbeddingRunner.
//
// Every pass is one graph run (n_ubatch = n_batch), because libllama pools wrongly over several;
// only with last pooling one input may be computed in pieces. A model that attends over a cache (a
// generating one, used for embeddings) has it emptied before each pass; an encoder has none.
//
// What a context costs: with flash attention 0.25 GB (MiniLM's shape) to 0.6 GB (Qwen3-0.6B's) for
// passes of 8192 tokens and 0.04 to 0.12 GB for 2048; without, 3.4 to 4.7 GB and 0.2 to 0.4 GB.
// The size is halved until what it would cost without is a quarter of the memory that is free.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/host/embedding_runner.h"
#include "engine/llama/llama_model.h"

struct llama_context;

namespace windrow::engine {

class LlamaEmbeddingRunner final : public EmbeddingRunner {
 public:
  // `library` and `model` outlive it. `devices`: whose memory the model fills. `path`: the model's
  // file, which alone tells whether it has a classification head, and which messages name. Errors
  // as LlamaModel::make_embedding_runner.
  static Result<std::unique_ptr<EmbeddingRunner>> make(LlamaLibrary& library, llama_model& model,
                                                       const HostingDevices& devices,
                                                       const LlamaAdapters& adapters,
                                                       const std::string& path,
                                                       const ModelFacts& facts,
                                                       const LlamaEmbeddingOptions& options);
  ~LlamaEmbeddingRunner() override;
  LlamaEmbeddingRunner(const LlamaEmbeddingRunner&) = delete;
  LlamaEmbeddingRunner& operator=(const LlamaEmbeddingRunner&) = delete;

  const EmbeddingLimits& limits() const override { return limits_; }
  Result<void> run(std::span<const std::span<const Token>> inputs) override;
  std::span<const float> embedding(size_t index) const override;

 private:
  struct Batch;  // llama_batch with its memory

  LlamaEmbeddingRunner(LlamaLibrary& library, llama_context* context, const std::string& path,
                       const EmbeddingLimits& limits);

  void check(std::span<const std::span<const Token>> inputs) const;
  Result<void> run_batch();

  LlamaLibrary& library_;
  llama_context* context_;
  const std::string path_;
  EmbeddingLimits limits_;
  std::unique_ptr<Batch> batch_;
  size_t inputs_ = 0;  // in the last pass
};

}  // namespace windrow::engine
