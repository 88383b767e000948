#include "engine/testing/scripted_answer.h"

#include <algorithm>

#include "base/utf8.h"
#include "engine/sampler.h"
#include "engine/testing/scripted_runner.h"

namespace windrow::engine::testing {

llm::Answer scripted_answer(const EngineRequest& request, int32_t vocabulary_size) {
  const ByteVocabulary vocabulary;
  llm::Answer answer{.finish_reason = llm::FinishReason::kLength};
  std::vector<Token> tokens = request.prompt;
  std::string text;
  for (int32_t index = 0; index < request.output_tokens_max; ++index) {
    const std::vector<float> logits = scripted_logits(tokens, vocabulary_size);
    const Token token = sample(logits, request.sampling, index);
    tokens.push_back(token);
    answer.tokens.push_back(token);
    answer.token_logprobs.push_back(static_cast<float>(log_probability(logits, token)));
    if (vocabulary.ends_answer(token) && !request.ignore_eos) {
      answer.finish_reason = llm::FinishReason::kStop;
      break;
    }
    vocabulary.append_bytes(token, text);
    size_t first = std::string::npos;
    for (const std::string& stop : request.stop)
      first = std::min(first, text.find(stop));
    if (first != std::string::npos) {
      text.resize(first);
      answer.finish_reason = llm::FinishReason::kStop;
      break;
    }
  }
  answer.text = utf8_repair(text);
  answer.usage = {.prompt_tokens = static_cast<int32_t>(request.prompt.size()),
                  .completion_tokens = static_cast<int32_t>(answer.tokens.size())};
  return answer;
}

}  // namespace windrow::engine::testing
