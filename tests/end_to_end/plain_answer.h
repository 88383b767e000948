// The answer of plain libllama to a single prompt: the count and the text that `windrow` must agree
// with.
#pragma once

#include <string>
#include <vector>

namespace windrow::end_to_end {

struct PromptPiece {
  std::string text;
  bool control = false;  // control tokens in it are meant
};

struct PlainAnswer {
  std::string text;
  std::string finish_reason;
  int prompt_tokens = 0;
  int completion_tokens = 0;  // the end token counts
};

// Greedy, with an F32 cache and no flash attention. `family` names a model of test_models.
PlainAnswer plain_answer(const std::string& family, const std::vector<PromptPiece>& prompt,
                         int output_tokens_max, bool ignore_eos);

// ChatML of one user message.
std::vector<PromptPiece> chat_prompt(const std::string& content);

}  // namespace windrow::end_to_end
