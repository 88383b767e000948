#include "engine/sampling/sampler.h"

#include <algorithm>
#include <cmath>

namespace windrow::engine {
namespace {

Token most_likely(const LogitBlocks& blocks) {
  const auto best = std::find(blocks.maxima().begin(), blocks.maxima().end(), blocks.max());
  const auto block = static_cast<size_t>(best - blocks.maxima().begin());
  const std::span<const float> logits = blocks.block(block);
  const auto at = std::find(logits.begin(), logits.end(), blocks.max()) - logits.begin();
  return static_cast<Token>(blocks.first_of(block) + static_cast<size_t>(at));
}

}  // namespace

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

// What stands in the way of a token does not change another's logit, so penalties may come first.
const LogitBlocks* Sampler::look(std::span<const float> logits, const llm::Sampling& sampling,
                                 const History& history, std::span<const uint64_t> mask) {
  const bool penalties = Penalties::needed(sampling);
  if (!penalties && mask.empty()) return raw_.scan(logits) ? &raw_ : nullptr;
  if (penalties) logits = penalties_.apply(logits, sampling, history);
  if (!mask.empty()) logits = allowed_.apply(logits, mask);
  return !logits.empty() && changed_.scan(logits) ? &changed_ : nullptr;
}

std::optional<Token> Sampler::sample(std::span<const float> logits, const llm::Sampling& sampling,
                                     const History& history, std::span<const uint64_t> mask) {
  if (const std::optional<Token> only = only_token(mask)) {
    // There is nothing to choose.
    const float logit = logits[static_cast<size_t>(*only)];
    return std::isfinite(logit) ? only : std::nullopt;
  }
  const LogitBlocks* blocks = look(logits, sampling, history, mask);
  if (blocks == nullptr) return std::nullopt;
  const auto token_at = [&](Token place) {
    return mask.empty() ? place : allowed_.token_at(static_cast<size_t>(place));
  };
  if (sampling.temperature <= 0.0F) return token_at(most_likely(*blocks));
  const double unit = unit_draw(sampling.seed, static_cast<int32_t>(history.answer.size()));
  if (!Filters::lists(sampling, blocks->logits().size())) {
    return token_at(
        draw_from(*blocks, filters_.keep(*blocks, sampling), sampling.temperature, unit, sums_));
  }
  std::vector<Candidate>& candidates = filters_.list(*blocks, sampling);
  set_probabilities(candidates, sampling.temperature);
  return token_at(draw_from(candidates, unit));
}

std::vector<Candidate> Sampler::distribution(std::span<const float> logits,
                                             const llm::Sampling& sampling,
                                             const History& history) {
  const LogitBlocks* blocks = look(logits, sampling, history, {});
  if (blocks == nullptr) return {};
  std::vector<Candidate> candidates;
  if (Filters::lists(sampling, logits.size())) {
    candidates = filters_.list(*blocks, sampling);
  } else {
    const LogitRange kept = filters_.keep(*blocks, sampling);
    find_at_least(*blocks, kept.lowest.logit, candidates);
    std::erase_if(candidates, [&](const Candidate& candidate) {
      return !kept.has(candidate.logit, candidate.token);
    });
  }
  std::sort(candidates.begin(), candidates.end(),
            [](const Candidate& a, const Candidate& b) { return more_likely(a, b); });
  set_probabilities(candidates, sampling.temperature);
  return candidates;
}

TokenScores Sampler::score(std::span<const float> logits, Token token, int32_t top_count) {
  raw_.scan(logits);
  return score_token(raw_, token, top_count);
}

}  // namespace windrow::engine
