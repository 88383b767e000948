#include "engine/testing/scripted_answer.h"

#include <algorithm>

#include "base/utf8.h"
#include "engine/sampler.h"
#include "engine/testing/scripted_runner.h"

namespace windrow::engine::testing {

llm::Answer scripted_answer(const EngineRequest& request, int32_t vocabulary_size) {
  const ByteVocabulary vocabulary;
  llm::Choice choice{.finish_reason = llm::FinishReason::kLength};
  std::vector<Token> tokens = request.prompt;
  std::string text;
  for (int32_t index = 0; index < request.output_tokens_max; ++index) {
    const std::vector<float> logits = scripted_logits(tokens, vocabulary_size);
    const Token token = sample(logits, request.sampling, index);
    tokens.push_back(token);
    llm::ScoredToken scored{
        .chosen = {.token = token, .logprob = static_cast<float>(log_probability(logits, token))}};
    vocabulary.append_bytes(token, scored.chosen.bytes);
    choice.tokens.push_back(std::move(scored));
    if (vocabulary.ends_answer(token) && !request.ignore_eos) {
      choice.finish_reason = llm::FinishReason::kStop;
      break;
    }
    vocabulary.append_bytes(token, text);
    size_t first = std::string::npos;
    for (const std::string& stop : request.stop)
      first = std::min(first, text.find(stop));
    if (first != std::string::npos) {
      text.resize(first);
      choice.finish_reason = llm::FinishReason::kStop;
      break;
    }
  }
  choice.text = utf8_repair(text);
  const auto tokens_count = static_cast<int32_t>(choice.tokens.size());
  return llm::Answer{.choices = {std::move(choice)},
                     .usage = {.prompt_tokens = static_cast<int32_t>(request.prompt.size()),
                               .completion_tokens = tokens_count}};
}

}  // namespace windrow::engine::testing
