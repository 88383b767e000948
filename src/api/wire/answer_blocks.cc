#include "api/wire/answer_blocks.h"

#include <fmt/format.h>

#include <utility>

namespace windrow::api {

using Kind = AnswerBlock::Kind;

std::vector<AnswerBlock> blocks_of(const llm::Choice& choice) {
  std::vector<AnswerBlock> blocks;
  if (choice.reasoning && !choice.reasoning->empty())
    blocks.push_back({.kind = Kind::kThoughts, .text = *choice.reasoning});
  if (!choice.text.empty())
    blocks.push_back({.kind = Kind::kText, .text = choice.text, .tokens = choice.tokens});
  if (choice.refusal && !choice.refusal->empty())
    blocks.push_back({.kind = Kind::kRefusal, .text = *choice.refusal});
  for (const llm::ToolCall& call : choice.tool_calls) {
    blocks.push_back(
        {.kind = Kind::kCall, .text = call.arguments, .call_id = call.id, .call_name = call.name});
  }
  return blocks;
}

AnswerEnding ending_of(const llm::Answer& answer) {
  AnswerEnding ending{.structure_warnings = answer.structure_warnings,
                      .usage = answer.usage,
                      .timings = answer.timings};
  if (answer.choices.empty()) return ending;
  const llm::Choice& choice = answer.choices.front();
  ending.reason = choice.finish_reason;
  ending.stopped_by = choice.stopped_by;
  ending.structure = choice.structure;
  ending.cut_character = choice.cut_character;
  return ending;
}

std::string call_id(std::string_view own, std::string_view answer_id, size_t block) {
  return own.empty() ? fmt::format("call_{}{}", answer_id, block) : std::string(own);
}

}  // namespace windrow::api
