#include "engine/testing/scripted_answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/utf8.h"
#include "engine/sampling/sampler.h"
#include "engine/testing/scripted_runner.h"

namespace windrow::engine::testing {
namespace {

constexpr double kLogprobTolerance = 1e-5;

std::vector<double> log_softmax(const std::vector<float>& logits) {
  const double most = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float logit : logits)
    sum += std::exp(static_cast<double>(logit) - most);
  std::vector<double> logprobs;
  for (const float logit : logits)
    logprobs.push_back(static_cast<double>(logit) - most - std::log(sum));
  return logprobs;
}

llm::TokenLogprob token_logprob(Token token, double logprob) {
  llm::TokenLogprob one{.token = token, .logprob = static_cast<float>(logprob)};
  ByteVocabulary().append_piece(token, one.bytes);
  return one;
}

llm::ScoredToken scored(const std::vector<float>& logits, Token token, int32_t top) {
  const std::vector<double> logprobs = log_softmax(logits);
  llm::ScoredToken result{.chosen = token_logprob(token, logprobs[static_cast<size_t>(token)])};
  std::vector<Token> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](Token a, Token b) {
    const float logit_a = logits[static_cast<size_t>(a)];
    const float logit_b = logits[static_cast<size_t>(b)];
    return logit_a != logit_b ? logit_a > logit_b : a < b;
  });
  for (int32_t i = 0; i < top; ++i) {
    const Token one = order[static_cast<size_t>(i)];
    result.top.push_back(token_logprob(one, logprobs[static_cast<size_t>(one)]));
  }
  const float logit = logits[static_cast<size_t>(token)];
  result.rank = 1 + static_cast<int32_t>(
                        std::ranges::count_if(logits, [&](float other) { return other > logit; }));
  return result;
}

bool same_token(const llm::TokenLogprob& a, const llm::TokenLogprob& b) {
  return a.token == b.token && a.bytes == b.bytes &&
         std::abs(static_cast<double>(a.logprob) - static_cast<double>(b.logprob)) <
             kLogprobTolerance;
}

bool same_scored(const llm::ScoredToken& a, const llm::ScoredToken& b) {
  return a.has_logprob == b.has_logprob && a.rank == b.rank && same_token(a.chosen, b.chosen) &&
         std::equal(a.top.begin(), a.top.end(), b.top.begin(), b.top.end(), same_token);
}

void compare_scores(const std::vector<llm::ScoredToken>& a, const std::vector<llm::ScoredToken>& b,
                    std::string& why) {
  if (a.size() != b.size()) {
    why = fmt::format("{} and {} tokens listed", a.size(), b.size());
    return;
  }
  for (size_t i = 0; i < a.size(); ++i) {
    if (same_scored(a[i], b[i])) continue;
    why =
        fmt::format("token {}: {} at {} and {} at {}, or what is beside them", i, a[i].chosen.token,
                    a[i].chosen.logprob, b[i].chosen.token, b[i].chosen.logprob);
    return;
  }
}

}  // namespace

llm::Answer scripted_answer(const EngineRequest& request, int32_t vocabulary_size) {
  const ByteVocabulary vocabulary;
  llm::Choice choice{.finish_reason = llm::FinishReason::kLength};
  std::vector<Token> tokens = request.prompt;
  const size_t prompt_tokens = tokens.size();
  const auto logits_after = [&](size_t count) {
    return scripted_logits(std::span(tokens).first(count), vocabulary_size);
  };
  const int32_t top = request.logprobs_top.value_or(0);
  const auto prompt_scores = [&](int32_t top_count) {
    std::vector<llm::ScoredToken> scores;
    for (auto i = static_cast<size_t>(request.score_from); i < prompt_tokens; ++i) {
      scores.push_back(
          i == 0 ? llm::ScoredToken{.chosen = token_logprob(tokens[0], 0), .has_logprob = false}
                 : scored(logits_after(i), tokens[i], top_count));
    }
    return scores;
  };
  if (request.score_prompt) choice.tokens = prompt_scores(top);
  if (request.prompt_logprobs_top)
    choice.prompt_scores = prompt_scores(*request.prompt_logprobs_top);
  std::string text;
  for (int32_t index = 0; index < request.output_tokens_max; ++index) {
    const std::vector<float> logits = logits_after(tokens.size());
    const std::span<const Token> known = tokens;
    const Token token = Sampler()
                            .sample(logits, request.sampling,
                                    {known.first(prompt_tokens), known.subspan(prompt_tokens)})
                            .value();
    tokens.push_back(token);
    if (request.logprobs_top) choice.tokens.push_back(scored(logits, token, top));
    if (request.return_token_ids) choice.token_ids.push_back(token);
    if (vocabulary.ends_answer(token) && !request.ignore_eos) {
      choice.finish_reason = llm::FinishReason::kStop;
      break;
    }
    if (std::ranges::find(request.stop_tokens, token) != request.stop_tokens.end()) {
      choice.finish_reason = llm::FinishReason::kStop;
      choice.stopped_by_token = token;
      break;
    }
    if (std::ranges::find(request.shown_tokens, token) != request.shown_tokens.end()) {
      vocabulary.append_piece(token, text);
    } else {
      vocabulary.append_bytes(token, text);
    }
    size_t first = std::string::npos;
    for (const std::string& stop : request.stop)
      first = std::min(first, text.find(stop));
    if (first != std::string::npos) {
      text.resize(first);
      choice.finish_reason = llm::FinishReason::kStop;
      break;
    }
  }
  choice.text = utf8_repair(request.text_before + text);
  return llm::Answer{
      .choices = {std::move(choice)},
      .usage = {.prompt_tokens = static_cast<int32_t>(prompt_tokens),
                .completion_tokens = static_cast<int32_t>(tokens.size() - prompt_tokens)}};
}

bool same_choice(const llm::Choice& a, const llm::Choice& b, std::string& why) {
  if (a.text != b.text) why = fmt::format("texts of {} and {} bytes", a.text.size(), b.text.size());
  if (a.finish_reason != b.finish_reason)
    why = fmt::format("{} and {}", to_string(a.finish_reason), to_string(b.finish_reason));
  if (a.token_ids != b.token_ids) why = "other token ids";
  if (a.stopped_by_token != b.stopped_by_token) why = "stopped by another token";
  compare_scores(a.tokens, b.tokens, why);
  compare_scores(a.prompt_scores, b.prompt_scores, why);
  return why.empty();
}

}  // namespace windrow::engine::testing
