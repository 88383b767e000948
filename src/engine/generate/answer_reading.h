// AnswerReading: how the answer to a chat is read: what its text shows of control tokens, what is
// reasoning and what are calls of tools. ReadingRules makes it for the chats of one model.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "chat/chat_template.h"
#include "chat/reasoning.h"
#include "chat/tool_call_stream.h"
#include "chat/tool_syntax.h"
#include "engine/host/types.h"
#include "engine/host/vocabulary.h"
#include "llm/request.h"

namespace windrow::engine {

// For EngineRequest's members of the same names.
struct AnswerReading {
  std::vector<Token> shown_tokens;
  std::shared_ptr<const chat::ReasoningContext> reasoning;
  std::shared_ptr<const chat::ToolContext> tools;
};

// Const and thread-safe.
class ReadingRules {
 public:
  // Without a template all of an answer is content.
  ReadingRules(const Vocabulary& vocabulary, const Result<chat::ChatTemplate>& chat_template);

  // The control tokens that the text of an answer shows,
  const std::vector<Token>& shown() const { return shown_; }
  // and where calls are looked for.
  const std::vector<Token>& shown_beside_tools() const { return shown_beside_tools_; }

  // `prompt_end`: the end of the chat's prompt, which may have opened the reasoning. `structured`:
  // the answer is a structure unless it begins with a call.
  AnswerReading reading_of(const llm::Chat& chat, std::string prompt_end, bool structured) const;

 private:
  // Nothing without a template.
  const std::optional<chat::ReasoningFormat> reasoning_;
  const std::optional<chat::ToolSyntax> syntax_;
  const std::vector<Token> shown_;
  const std::vector<Token> shown_beside_tools_;
};

}  // namespace windrow::engine
