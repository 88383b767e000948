#include "engine/sampling/penalties.h"

namespace windrow::engine {

bool Penalties::needed(const llm::Sampling& sampling) {
  return !sampling.logit_bias.empty() || sampling.presence_penalty != 0.0F ||
         sampling.frequency_penalty != 0.0F || sampling.repetition_penalty != 1.0F;
}

std::span<const float> Penalties::apply(std::span<const float> logits,
                                        const llm::Sampling& sampling, const History& history) {
  logits_.assign(logits.begin(), logits.end());
  for (const llm::LogitBias& bias : sampling.logit_bias) {
    if (bias.token < 0 || static_cast<size_t>(bias.token) >= logits_.size()) continue;
    logits_[static_cast<size_t>(bias.token)] += bias.bias;
  }
  counts_.resize(logits_.size(), 0);
  if (sampling.repetition_penalty != 1.0F) {
    // Once for each token, however often it occurs; counts_ marks the tokens seen.
    for (const std::span<const Token> tokens : {history.prompt, history.answer}) {
      for (const Token token : tokens) {
        const auto at = static_cast<size_t>(token);
        if (counts_[at]++ > 0) continue;
        float& logit = logits_[at];
        logit =
            logit > 0 ? logit / sampling.repetition_penalty : logit * sampling.repetition_penalty;
      }
    }
    for (const std::span<const Token> tokens : {history.prompt, history.answer}) {
      for (const Token token : tokens)
        counts_[static_cast<size_t>(token)] = 0;
    }
  }
  if (sampling.presence_penalty != 0.0F || sampling.frequency_penalty != 0.0F) {
    for (const Token token : history.answer)
      ++counts_[static_cast<size_t>(token)];
    for (const Token token : history.answer) {
      int32_t& count = counts_[static_cast<size_t>(token)];
      if (count == 0) continue;
      logits_[static_cast<size_t>(token)] -=
          static_cast<float>(count) * sampling.frequency_penalty + sampling.presence_penalty;
      count = 0;
    }
  }
  return logits_;
}

}  // namespace windrow::engine
