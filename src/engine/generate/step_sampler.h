// StepSampler: makes the next token, or the score of a prompt's token, of each of a step's logits;
// on a few threads when a step has many.
//
// Used by one thread at a time. While run() works, the rows are read and nothing else is touched;
// what a row is given does not depend on the number of threads.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "async/parallel_for.h"
#include "engine/generate/answer_row.h"
#include "engine/host/types.h"
#include "engine/sampling/sampler.h"
#include "grammar/token_mask.h"
#include "llm/answer.h"

namespace windrow::engine {

struct SamplingThreads {
  int32_t count = 1;  // including the caller's; 0, for an Engine: one a core, up to 8

  // A step with fewer logits than this is sampled by the caller alone.
  int64_t logits_min = int64_t{1} << 18;
};

// Logits of a step, and what is made of them.
struct StepOutput {
  RowId id;
  const AnswerRow* row = nullptr;
  Position position = 0;  // of the token that they follow
  std::span<const float> logits;
  std::shared_ptr<const grammar::TokenMask> mask;  // null: every token is allowed

  // The row's next token, or its known token at position + 1, with its score where the row wants
  // one. Nothing: the logits are not numbers, or the mask allows no token, or `no_memory`.
  std::optional<Token> token;
  llm::ScoredToken scored;
  bool no_memory = false;
};

class StepSampler {
 public:
  explicit StepSampler(const SamplingThreads& threads);

  // Fills in token, scored and no_memory. Never throws.
  void run(std::span<StepOutput> outputs);

 private:
  static void sample(StepOutput& output, Sampler& sampler);
  static void sample_or_score(StepOutput& output, Sampler& sampler);

  const SamplingThreads threads_;
  async::ParallelFor workers_;
  std::vector<Sampler> samplers_;  // one for each worker
};

}  // namespace windrow::engine
