#include "engine/sampler.h"

#include <algorithm>
#include <cmath>

#include "base/random.h"

namespace windrow::engine {
namespace {

bool more_likely(const Candidate& a, const Candidate& b) {
  return a.logit != b.logit ? a.logit > b.logit : a.token < b.token;
}

// The largest logit is a number, and none is worse than minus infinity, which only means never.
bool usable(std::span<const float> logits) {
  const bool any_nan =
      std::any_of(logits.begin(), logits.end(), [](float logit) { return std::isnan(logit); });
  return !logits.empty() && !any_nan &&
         std::isfinite(*std::max_element(logits.begin(), logits.end()));
}

// Probabilities at `temperature`, relative to the most likely one; returns their sum.
double set_weights(std::vector<Candidate>& candidates, float logit_max, double temperature) {
  double sum = 0;
  for (Candidate& candidate : candidates) {
    candidate.probability =
        std::exp((static_cast<double>(candidate.logit) - logit_max) / temperature);
    sum += candidate.probability;
  }
  return sum;
}

// Orders the candidates until `enough(sum of probabilities so far)`; returns how many that took.
// The vocabulary has 150,000 entries of which a nucleus rarely holds 100, so it is ordered
// piecewise.
template <class Enough>
size_t sort_until(std::vector<Candidate>& candidates, Enough enough) {
  size_t sorted = 0;
  double sum = 0;
  for (size_t end = 256; sorted < candidates.size(); end *= 8) {
    end = std::min(end, candidates.size());
    const auto at = [&](size_t i) { return candidates.begin() + static_cast<ptrdiff_t>(i); };
    if (end < candidates.size())
      std::nth_element(at(sorted), at(end), at(candidates.size()), more_likely);
    std::sort(at(sorted), at(end), more_likely);
    for (; sorted < end; ++sorted) {
      sum += candidates[sorted].probability;
      if (enough(sum)) return sorted + 1;
    }
  }
  return sorted;
}

void keep_top_k(std::vector<Candidate>& candidates, int32_t top_k) {
  if (top_k <= 0 || static_cast<size_t>(top_k) >= candidates.size()) return;
  std::nth_element(candidates.begin(), candidates.begin() + top_k, candidates.end(), more_likely);
  candidates.resize(static_cast<size_t>(top_k));
}

// The fewest most likely candidates that together reach top_p (Holtzman et al., 2020).
void keep_top_p(std::vector<Candidate>& candidates, float logit_max, float top_p) {
  if (top_p >= 1.0F) return;
  const double sum = set_weights(candidates, logit_max, 1.0);
  const double wanted = static_cast<double>(top_p) * sum;
  candidates.resize(sort_until(candidates, [&](double so_far) { return so_far >= wanted; }));
}

// Those at least min_p times as likely as the most likely one (Nguyen et al., 2024).
void keep_min_p(std::vector<Candidate>& candidates, float logit_max, float min_p) {
  if (min_p <= 0.0F) return;
  const float logit_min = logit_max + std::log(min_p);
  std::erase_if(candidates,
                [&](const Candidate& candidate) { return candidate.logit < logit_min; });
}

std::vector<Candidate> filtered(std::span<const float> logits, const llm::Sampling& sampling) {
  std::vector<Candidate> candidates(logits.size());
  for (size_t i = 0; i < logits.size(); ++i) {
    candidates[i] = Candidate{.token = static_cast<Token>(i), .logit = logits[i]};
  }
  const float logit_max = *std::max_element(logits.begin(), logits.end());
  keep_top_k(candidates, sampling.top_k);
  keep_top_p(candidates, logit_max, sampling.top_p);
  keep_min_p(candidates, logit_max, sampling.min_p);
  const double sum = set_weights(candidates, logit_max, sampling.temperature);
  for (Candidate& candidate : candidates)
    candidate.probability /= sum;
  return candidates;
}

double draw_of(uint64_t seed, int32_t index) {
  Random mixed(seed ^ (static_cast<uint64_t>(index) * uint64_t{0xD1B54A32D192ED03}));
  mixed.next();
  return mixed.unit();
}

}  // namespace

Token most_likely(std::span<const float> logits) {
  if (!usable(logits)) return -1;
  return static_cast<Token>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

double log_probability(std::span<const float> logits, Token token) {
  const double logit_max = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float logit : logits)
    sum += std::exp(static_cast<double>(logit) - logit_max);
  return static_cast<double>(logits[static_cast<size_t>(token)]) - logit_max - std::log(sum);
}

std::vector<Candidate> distribution(std::span<const float> logits, const llm::Sampling& sampling) {
  if (!usable(logits)) return {};
  std::vector<Candidate> candidates = filtered(logits, sampling);
  std::sort(candidates.begin(), candidates.end(), more_likely);
  return candidates;
}

Token sample(std::span<const float> logits, const llm::Sampling& sampling, int32_t index) {
  if (sampling.temperature <= 0.0F) return most_likely(logits);
  if (!usable(logits)) return -1;
  // In whatever order the filters left the candidates, which depends on nothing but the logits.
  const std::vector<Candidate> candidates = filtered(logits, sampling);
  double left = draw_of(sampling.seed, index);
  for (const Candidate& candidate : candidates) {
    left -= candidate.probability;
    if (left < 0) return candidate.token;
  }
  return std::max_element(
             candidates.begin(), candidates.end(),
             [](const Candidate& a, const Candidate& b) { return a.probability < b.probability; })
      ->token;
}

}  // namespace windrow::engine
