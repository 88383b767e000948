// Penalties: how a request changes logits before they are filtered: biases, then penalties for
// tokens that occurred before. Pure.
//
// The order and the arithmetic are those of llama.cpp and vLLM. Which tokens count follows OpenAI's
// and vLLM's documents: presence and frequency penalties look at the answer, the repetition penalty
// (CTRL, Keskar et al., 2019) at prompt and answer. llama.cpp looks at the last tokens of both for
// all three.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/host/types.h"
#include "llm/request.h"

namespace windrow::engine {

// What a row holds so far.
struct History {
  std::span<const Token> prompt;
  std::span<const Token> answer;
};

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

}  // namespace windrow::engine
