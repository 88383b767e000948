// Sampler: the choice of the next token. The parts lie in sampling/: penalties change logits, a
// mask takes out what a structure does not allow, filters what is unlikely, draw picks one of the
// rest, probabilities say what the model thought.
//
// What is chosen depends on the logits, the request and the row's own tokens, and on nothing else.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "engine/host/types.h"
#include "engine/sampling/allowed.h"
#include "engine/sampling/candidates.h"
#include "engine/sampling/draw.h"
#include "engine/sampling/filters.h"
#include "engine/sampling/logit_blocks.h"
#include "engine/sampling/penalties.h"
#include "engine/sampling/probabilities.h"
#include "llm/request.h"

namespace windrow::engine {

// Used by one thread at a time; keeps its memory from row to row, and nothing else.
class Sampler {
 public:
  // The row's next token. Temperature 0 takes the most likely one, the lowest of equal ones; biases
  // and penalties hold there too. Nothing when the logits are not usable (sampling/logit_blocks.h).
  // With a mask (sampling/allowed.h) it is as if the vocabulary had its tokens only; whether the
  // others' logits are numbers does not matter then.
  std::optional<Token> sample(std::span<const float> logits, const llm::Sampling& sampling,
                              const History& history, std::span<const uint64_t> mask = {});

  // What temperature > 0 draws from: the tokens that pass the filters, with probabilities that add
  // up to 1, most likely first. Empty when the logits are not usable.
  std::vector<Candidate> distribution(std::span<const float> logits, const llm::Sampling& sampling,
                                      const History& history);

  // The log-probability of a token and the most likely ones beside it, of usable logits.
  TokenScores score(std::span<const float> logits, Token token, int32_t top_count);

  bool usable(std::span<const float> logits) { return raw_.scan(logits); }

 private:
  // Looks at the logits with penalties; none when they are not usable.
  const LogitBlocks* look(std::span<const float> logits, const llm::Sampling& sampling,
                          const History& history, std::span<const uint64_t> mask);

  LogitBlocks raw_;
  LogitBlocks changed_;
  Allowed allowed_;
  Penalties penalties_;
  Filters filters_;
  std::vector<double> sums_;
};

}  // namespace windrow::engine
