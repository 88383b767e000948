#include "program/run/call_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <limits>
#include <utility>

#include "json/parse.h"

namespace windrow::program {

namespace json = boost::json;

AnswerValue answer_value(const OpenCall& call, const GenerateReply& reply) {
  const llm::Choice& choice = reply.choice;
  AnswerValue value{.text = choice.text,
                    .thought = choice.reasoning,
                    .finish = choice.finish_reason,
                    .is_truncated = choice.finish_reason == llm::FinishReason::kLength,
                    .value = std::nullopt,
                    .usage = reply.usage};
  if (call.has_schema && !value.is_truncated) {
    auto parsed = parse_json(choice.text);
    if (auto* answer = std::get_if<json::value>(&parsed)) value.value = std::move(*answer);
  }
  return value;
}

ScoresValue scores_value(const OpenCall& call, const ScoreReply& reply) {
  ScoresValue value;
  for (size_t i = 0; i < call.texts.size() && i < reply.scores.size(); ++i) {
    value.scores.push_back({.text = call.texts[i],
                            .logprob = reply.scores[i].logprob,
                            .tokens = reply.scores[i].tokens});
  }
  return value;
}

SelectedValue selected_value(const OpenCall& call, const ScoreReply& reply) {
  SelectedValue value{.index = 0, .text = {}, .scores = scores_value(call, reply).scores};
  const auto best = std::ranges::max_element(value.scores, {}, &ScoredText::mean);
  if (best == value.scores.end()) return value;
  value.index = static_cast<size_t>(best - value.scores.begin());
  value.text = best->text;
  return value;
}

GenerateOptions select_options(std::vector<std::string> choices) {
  // The object around the text, and a token at its end. A token has a byte at least, but a text may
  // have many that JSON escapes.
  constexpr size_t kAroundTokens = 64;
  size_t longest = 0;
  for (const std::string& choice : choices)
    longest = std::max(longest, json::serialize(json::value(choice)).size());
  GenerateOptions options;
  options.temperature = 0.0F;
  options.output_tokens_max = static_cast<int32_t>(
      std::min<size_t>(longest + kAroundTokens, std::numeric_limits<int32_t>::max()));
  options.structured = llm::StructureSpec{.kind = llm::StructureSpec::Kind::kChoice,
                                          .text = {},
                                          .choices = std::move(choices),
                                          .param = "choices"};
  return options;
}

std::variant<SelectedValue, llm::Failure> chosen_value(const OpenCall& call,
                                                       const llm::Choice& answer) {
  const auto chosen = std::ranges::find(call.texts, answer.text);
  if (chosen == call.texts.end()) {
    const bool was_cut = answer.finish_reason == llm::FinishReason::kLength;
    return llm::Failure{
        .failure_class = llm::FailureClass::kRequest,
        .status = 502,
        .code = "unusable_answer",
        .message = fmt::format(
            "select: the server answered \"{}\", which is none of the choices; {}", answer.text,
            was_cut ? "it was cut: if the model thinks, give thinking = false to Context.new"
                    : "does it honour response_format?"),
        .param = {}};
  }
  return SelectedValue{
      .index = static_cast<size_t>(chosen - call.texts.begin()), .text = *chosen, .scores = {}};
}

}  // namespace windrow::program
