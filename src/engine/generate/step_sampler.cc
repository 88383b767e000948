#include "engine/generate/step_sampler.h"

#include <new>

namespace windrow::engine {

StepSampler::StepSampler(const SamplingThreads& threads)
    : threads_(threads), workers_(threads.count), samplers_(static_cast<size_t>(threads.count)) {}

void StepSampler::run(std::span<StepOutput> outputs) {
  if (outputs.empty()) return;
  const auto logits = static_cast<int64_t>(outputs.size() * outputs.front().logits.size());
  workers_.run(outputs.size(), logits >= threads_.logits_min ? threads_.count : 1,
               [&](size_t i, size_t worker) { sample(outputs[i], samplers_[worker]); });
}

void StepSampler::sample(StepOutput& output, Sampler& sampler) {
  try {
    sample_or_score(output, sampler);
  } catch (const std::bad_alloc&) {
    output.no_memory = true;
    output.token.reset();
  }
}

void StepSampler::sample_or_score(StepOutput& output, Sampler& sampler) {
  const AnswerRow& row = *output.row;
  const EngineRequest& request = row.request();
  const auto next = static_cast<size_t>(output.position) + 1;
  const auto prompt_tokens = static_cast<size_t>(row.prompt_tokens());
  const std::span<const Token> tokens = row.tokens();
  if (next < tokens.size()) {
    if (sampler.usable(output.logits)) output.token = tokens[next];
  } else {
    // Scores are of the whole vocabulary, so all logits have to be numbers.
    if (output.mask && row.has_scores() && !sampler.usable(output.logits)) return;
    const std::span<const uint64_t> mask =
        output.mask ? output.mask->words() : std::span<const uint64_t>();
    output.token =
        sampler.sample(output.logits, request.sampling,
                       {tokens.first(prompt_tokens), tokens.subspan(prompt_tokens)}, mask);
  }
  if (!output.token || !row.has_scores()) return;
  const TokenScores scores = sampler.score(output.logits, *output.token, *request.scores_top());
  output.scored.rank = scores.rank;
  output.scored.chosen = row.token_logprob(*output.token, scores.logprob);
  for (const TokenScore& one : scores.top)
    output.scored.top.push_back(row.token_logprob(one.token, one.logprob));
}

}  // namespace windrow::engine
