#include "llm/answer.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace windrow::llm {
namespace {

size_t bytes_of(const std::vector<ToolCall>& calls) {
  size_t bytes = 0;
  for (const ToolCall& call : calls)
    bytes += sizeof(call) + call.id.size() + call.name.size() + call.arguments.size();
  return bytes;
}

}  // namespace

std::string_view to_string(FinishReason reason) {
  switch (reason) {
    case FinishReason::kStop:
      return "stop";
    case FinishReason::kLength:
      return "length";
    case FinishReason::kToolCalls:
      return "tool_calls";
    case FinishReason::kFiltered:
      return "content_filter";
  }
  return "";
}

std::string_view to_string(StructureLabel label) {
  return label == StructureLabel::kValid ? "valid" : "truncated";
}

float relevance_of(const RankedDocument& document) {
  return document.is_probability ? document.score : 1.0F / (1.0F + std::exp(-document.score));
}

std::optional<Answer> as_whole(const Answer& answer) {
  if (std::ranges::none_of(answer.choices,
                           [](const Choice& choice) { return choice.when_whole.has_value(); })) {
    return std::nullopt;
  }
  Answer whole = answer;
  for (Choice& choice : whole.choices) {
    if (!choice.when_whole) continue;
    WholeForm form = *std::exchange(choice.when_whole, std::nullopt);
    choice.text = std::move(form.text);
    choice.tool_calls = std::move(form.tool_calls);
    choice.finish_reason = form.finish_reason;
  }
  return whole;
}

size_t bytes_of(const ScoredToken& token) {
  size_t bytes = sizeof(token) + token.chosen.bytes.size();
  for (const TokenLogprob& one : token.top)
    bytes += sizeof(one) + one.bytes.size();
  return bytes;
}

size_t bytes_of(const Answer& answer) {
  size_t bytes = sizeof(answer) + answer.raw.size();
  if (answer.verbatim) bytes += answer.verbatim->content_type.size() + answer.verbatim->body.size();
  for (const Choice& choice : answer.choices) {
    bytes += sizeof(choice) + choice.text.size() + choice.reasoning.value_or("").size() +
             choice.refusal.value_or("").size();
    bytes += bytes_of(choice.tool_calls);
    if (choice.when_whole)
      bytes += choice.when_whole->text.size() + bytes_of(choice.when_whole->tool_calls);
    for (const ScoredToken& token : choice.tokens)
      bytes += bytes_of(token);
    for (const ScoredToken& token : choice.prompt_scores)
      bytes += bytes_of(token);
    bytes += choice.token_ids.size() * sizeof(int32_t);
  }
  for (const std::vector<int32_t>& ids : answer.prompt_token_ids)
    bytes += sizeof(ids) + ids.size() * sizeof(int32_t);
  for (const std::vector<float>& embedding : answer.embeddings)
    bytes += sizeof(embedding) + embedding.size() * sizeof(float);
  for (const RankedDocument& document : answer.ranking)
    bytes += sizeof(document) + document.text.value_or("").size();
  return bytes;
}

}  // namespace windrow::llm
