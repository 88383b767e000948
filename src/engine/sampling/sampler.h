// Sampler: chooses the next token: penalties change the logits, a mask excludes tokens that a
// structure does not allow, filters exclude unlikely ones, a draw picks one of the rest.
//
// The choice depends on the logits, the request and the row's own tokens, and on nothing else.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/host/types.h"
#include "engine/sampling/candidates.h"
#include "engine/sampling/filters.h"
#include "engine/sampling/logit_blocks.h"
#include "engine/sampling/masked_logits.h"
#include "llm/request.h"

namespace windrow::engine {

// The tokens of a row so far.
struct History {
  std::span<const Token> prompt;
  std::span<const Token> answer;
};

// How a request changes logits before they are filtered: biases, then penalties for tokens that
// occurred before.
//
// The order and the arithmetic are those of llama.cpp and vLLM. Which tokens count follows OpenAI's
// and vLLM's documents: presence and frequency penalties look at the answer, the repetition penalty
// (CTRL, Keskar et al., 2019) at prompt and answer. llama.cpp looks at the last tokens of both for
// all three.
//
// Used by one thread at a time; keeps its memory from row to row.
class Penalties {
 public:
  // Whether a request changes logits at all.
  static bool needed(const llm::Sampling& sampling);

  // The changed logits, valid until the next call.
  std::span<const float> apply(std::span<const float> logits, const llm::Sampling& sampling,
                               const History& history);

 private:
  std::vector<float> logits_;
  std::vector<int32_t> counts_;  // per token; zero between two calls
};

// Used by one thread at a time; keeps its memory from row to row, and nothing else.
class Sampler {
 public:
  // The row's next token. Temperature 0 takes the most likely one, the lowest of equal ones; biases
  // and penalties apply there too. nullopt: the logits are not usable (logit_blocks.h). With a mask
  // (masked_logits.h) it is as if the vocabulary had only its tokens; the logits of others may then
  // be anything.
  std::optional<Token> sample(std::span<const float> logits, const llm::Sampling& sampling,
                              const History& history, std::span<const uint64_t> mask = {});

  // The tokens that temperature > 0 draws from: those that pass the filters, with probabilities
  // that add up to 1, most likely first. Empty when the logits are not usable.
  std::vector<Candidate> distribution(std::span<const float> logits, const llm::Sampling& sampling,
                                      const History& history);

  // score_token() of logits that are usable.
  TokenScores score(std::span<const float> logits, Token token, int32_t top_count);

  bool usable(std::span<const float> logits) { return raw_.scan(logits); }

 private:
  // The logits with penalties and mask applied; nullptr when they are not usable.
  const LogitBlocks* look(std::span<const float> logits, const llm::Sampling& sampling,
                          const History& history, std::span<const uint64_t> mask);

  LogitBlocks raw_;
  LogitBlocks changed_;
  MaskedLogits allowed_;
  Penalties penalties_;
  Filters filters_;
  std::vector<double> sums_;
};

}  // namespace windrow::engine
