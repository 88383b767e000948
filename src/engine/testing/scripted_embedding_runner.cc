#include "engine/testing/scripted_embedding_runner.h"

#include "base/ensure.h"
#include "base/random.h"

namespace windrow::engine::testing {

std::vector<float> scripted_embedding(std::span<const Token> tokens, int32_t width) {
  uint64_t state = 0x454D4245;
  for (const Token token : tokens) {
    Random mixed(state ^ static_cast<uint64_t>(token + 1) * uint64_t{0x9E3779B97F4A7C15});
    state = mixed.next();
  }
  Random random(state);
  std::vector<float> vector(static_cast<size_t>(width));
  for (float& x : vector)
    x = static_cast<float>(random.unit() * 2 - 1);
  return vector;
}

Result<void> ScriptedEmbeddingRunner::run(Inputs inputs) {
  ENSURE(!inputs.empty(), "an empty pass was run");
  if (on_pass) on_pass(inputs);
  ENSURE(inputs.size() <= static_cast<size_t>(limits_.inputs_max), "{} inputs", inputs.size());
  size_t tokens = 0;
  for (const std::span<const Token>& input : inputs) {
    ENSURE(!input.empty(), "an input without tokens");
    ENSURE(input.size() <= static_cast<size_t>(limits_.input_tokens_max), "an input of {} tokens",
           input.size());
    tokens += input.size();
  }
  ENSURE(tokens <= static_cast<size_t>(limits_.batch_tokens_max) ||
             (inputs.size() == 1 && limits_.can_chunk),
         "{} tokens in a pass", tokens);
  if (fault) {
    if (const std::optional<Error> error = fault(inputs)) return *error;
  }
  outputs_.clear();
  for (const std::span<const Token>& input : inputs) {
    outputs_.push_back(scripted_embedding(input, width(limits_)));
    if (spoil) spoil(input, outputs_.back());
  }
  return {};
}

}  // namespace windrow::engine::testing
