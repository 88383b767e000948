#include "program/models/score_request.h"

#include <fmt/format.h>

#include <algorithm>

#include "program/models/unusable_answer.h"

namespace windrow::program {

std::variant<llm::Request, llm::Failure> score_request(
    const ContextModel& model, const Prompt& prompt,
    const std::vector<std::vector<int32_t>>& continuations) {
  const auto invalid = [](std::string_view why) {
    return llm::Failure{
        .code = "invalid_value", .message = fmt::format("score: {}", why), .param = "texts"};
  };
  // Its first token would have no probability.
  if (prompt.tokens.empty())
    return invalid("the context is empty, so nothing can be a continuation of it; add to it first");
  if (continuations.empty()) return invalid("the list of texts is empty; give at least one");
  if (std::ranges::any_of(continuations, &std::vector<int32_t>::empty))
    return invalid("a text is empty, so it has no probability; take it out");
  llm::Request request;
  request.endpoint = llm::Endpoint::kCompletions;
  request.model = model.name;
  request.output_tokens_max = 0;
  request.prompt_logprobs_top = 0;
  request.score_from = static_cast<int32_t>(prompt.tokens.size());
  request.inputs.reserve(continuations.size());
  for (const std::vector<int32_t>& continuation : continuations) {
    llm::Input& input = request.inputs.emplace_back();
    input.tokens.reserve(prompt.tokens.size() + continuation.size());
    input.tokens.insert(input.tokens.end(), prompt.tokens.begin(), prompt.tokens.end());
    input.tokens.insert(input.tokens.end(), continuation.begin(), continuation.end());
  }
  return request;
}

std::variant<ScoreReply, llm::Failure> read_scores(const llm::Answer& answer,
                                                   const std::vector<size_t>& tokens) {
  ScoreReply reply{.scores = {}, .usage = answer.usage};
  reply.scores.reserve(tokens.size());
  for (size_t i = 0; i < tokens.size(); ++i) {
    const size_t scored = i < answer.choices.size() ? answer.choices[i].prompt_scores.size() : 0;
    if (scored != tokens[i]) {
      return unusable_answer(fmt::format(
          "the model scored {} of the {} tokens of text {}; try again", scored, tokens[i], i + 1));
    }
    TextScore& score = reply.scores.emplace_back();
    score.tokens = static_cast<int32_t>(scored);
    for (const llm::ScoredToken& token : answer.choices[i].prompt_scores)
      score.logprob += token.chosen.logprob;
  }
  return reply;
}

}  // namespace windrow::program
