#include "llm/answer.h"

namespace windrow::llm {
namespace {

size_t bytes_of(const ScoredToken& token) {
  size_t bytes = sizeof(token) + token.chosen.bytes.size();
  for (const TokenLogprob& one : token.top)
    bytes += sizeof(one) + one.bytes.size();
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

size_t bytes_of(const Answer& answer) {
  size_t bytes = sizeof(answer) + answer.raw.size();
  for (const Choice& choice : answer.choices) {
    bytes += sizeof(choice) + choice.text.size() + choice.reasoning.value_or("").size() +
             choice.refusal.value_or("").size();
    for (const ToolCall& call : choice.tool_calls)
      bytes += sizeof(call) + call.id.size() + call.name.size() + call.arguments.size();
    for (const ScoredToken& token : choice.tokens)
      bytes += bytes_of(token);
  }
  for (const std::vector<float>& embedding : answer.embeddings)
    bytes += sizeof(embedding) + embedding.size() * sizeof(float);
  for (const RankedDocument& document : answer.ranking)
    bytes += sizeof(document) + document.text.value_or("").size();
  return bytes;
}

}  // namespace windrow::llm
