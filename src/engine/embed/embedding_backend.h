// EmbeddingBackend: a model in this process that answers /v1/embeddings or, with a classification
// head, /v1/rerank, as an llm::Backend.
//
// It is made of a loaded model:
//
//   auto runner = model.make_embedding_runner(options);      // Result
//   EmbeddingBackend backend(*std::move(runner), model.vocabulary(), model.pair_format(), clock,
//                            {.batch_tokens = ...});         // or {}: measured
//
// Requests are checked and tokenised on the caller's thread; passes run on the device thread, and
// Done is called there. A model that also generates has a second context (make_runner) and a second
// backend; requests are sent to one of them by their endpoint.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "engine/embed/embedder.h"
#include "engine/embed/embedding_loop.h"
#include "engine/embed/pair_tokens.h"
#include "engine/host/embedding_runner.h"
#include "engine/host/vocabulary.h"
#include "llm/answer.h"
#include "llm/backend.h"
#include "llm/request.h"

namespace windrow::engine {

// Pure, as the two functions below.
//
// Keeps the first `dimensions` numbers (Matryoshka embeddings, Kusupati et al., 2022) and scales
// them to length 1. A vector of zeros stays one.
void normalise(std::vector<float>& embedding, size_t dimensions);

// The documents by their first score, the highest first; equal ones in their order in the request.
std::vector<llm::RankedDocument> rank(const llm::Request& request,
                                      const std::vector<std::vector<float>>& scores);

// The answer to a request from the model's vectors. `prompt_tokens`: of all inputs together.
llm::Answer embedding_answer(const llm::Request& request, EmbeddingResult result,
                             int32_t prompt_tokens);

class EmbeddingBackend final : public llm::Backend {
 public:
  // `vocabulary` and `clock` must outlive the backend. `pair_format` matters with Pooling::kRank.
  // `thread` as in Embedder.
  EmbeddingBackend(std::unique_ptr<EmbeddingRunner> runner, const Vocabulary& vocabulary,
                   PairFormat pair_format, const Clock& clock, const EmbeddingOptions& options,
                   std::shared_ptr<DeviceThread> thread = nullptr);

  using Inputs = std::vector<std::vector<Token>>;

  // The inputs of a request as the model will see them (with kRerank one per document, with the
  // query in each), or the failure that submit() would give at once. For counting and checking
  // before a job.
  std::variant<Inputs, llm::Failure> input_tokens(const llm::Request& request) const;

  const EmbeddingLimits& limits() const { return embedder_.limits(); }
  BudgetReport budget() const { return embedder_.budget(); }

  std::shared_ptr<const llm::ReadAhead> read_ahead(const llm::Request& request) override;
  void submit(llm::BackendCall call, Done done) override;
  int32_t in_flight_target() const override;

  // rows_waiting and rows_running count inputs.
  llm::BackendStats stats() const override { return embedder_.stats(); }

 private:
  std::optional<llm::Failure> check(const llm::Request& request) const;
  std::optional<llm::Failure> check_tokens(const llm::Request& request, size_t index) const;
  std::optional<llm::Failure> check_bytes(const llm::Request& request, size_t index) const;
  std::optional<llm::Failure> check_length(const llm::Request& request, size_t index,
                                           size_t tokens) const;
  llm::Failure too_long(const llm::Request& request, size_t index, size_t tokens,
                        bool at_least) const;
  std::variant<std::vector<Token>, llm::Failure> tokens_of(const llm::Request& request,
                                                           size_t index) const;

  const Vocabulary& vocabulary_;
  const PairTokens pair_tokens_;
  const Clock& clock_;
  Embedder embedder_;
};

}  // namespace windrow::engine
