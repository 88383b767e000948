#include "engine/generate/answer_reading.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace windrow::engine {
namespace {

// Text shows no control tokens, but for those that tell thoughts from what is said, and calls of
// tools from either.
std::vector<Token> tokens_of_marks(const Vocabulary& vocabulary,
                                   const std::optional<chat::ReasoningFormat>& format,
                                   const std::optional<chat::ToolSyntax>& syntax) {
  std::vector<Token> tokens;
  std::vector<std::string> marks;
  if (format) marks = format->marks();
  if (syntax) std::ranges::copy(syntax->marks(), std::back_inserter(marks));
  if (marks.empty()) return tokens;
  for (const ControlToken& token : vocabulary.control_tokens()) {
    if (std::ranges::find(marks, token.text) != marks.end()) tokens.push_back(token.token);
  }
  return tokens;
}

}  // namespace

ReadingRules::ReadingRules(const Vocabulary& vocabulary,
                           const Result<chat::ChatTemplate>& chat_template)
    : reasoning_(chat_template ? std::optional(chat_template->reasoning()) : std::nullopt),
      syntax_(chat_template ? std::optional(chat_template->tool_syntax()) : std::nullopt),
      shown_(tokens_of_marks(vocabulary, reasoning_, std::nullopt)),
      shown_beside_tools_(tokens_of_marks(vocabulary, reasoning_, syntax_)) {}

AnswerReading ReadingRules::reading_of(const llm::Chat& chat, std::string prompt_end,
                                       bool structured) const {
  AnswerReading reading{.shown_tokens = shown_, .reasoning = nullptr, .tools = nullptr};
  if (!reasoning_) return reading;
  reading.reasoning = std::make_shared<const chat::ReasoningContext>(
      chat::ReasoningContext{.format = *reasoning_, .prompt_end = std::move(prompt_end)});
  if (chat.tools.empty() || syntax_->form == chat::ToolSyntax::Form::kNone) return reading;
  reading.shown_tokens = shown_beside_tools_;
  reading.tools = std::make_shared<const chat::ToolContext>(
      chat::ToolContext{.syntax = *syntax_,
                        .tools = chat::ToolTable(chat.tools),
                        .several = chat.tool_choice.parallel,
                        .at_begin_only = structured});
  return reading;
}

}  // namespace windrow::engine
