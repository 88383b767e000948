// PromptMaker: the prompt of a request as the tokens that a model sees, or why the request cannot
// be answered. It does on the caller's thread what needs no model: chat template, tokens, limits.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "chat/reasoning.h"
#include "chat/tool_syntax.h"
#include "engine/generate/model_tokenizer.h"
#include "engine/host/types.h"
#include "llm/answer.h"
#include "llm/request.h"

namespace windrow::engine {

struct Prompts {
  // One for each input of a completion; one for a chat.
  std::vector<std::vector<Token>> tokens;

  // The end of a chat's prompt, which may have opened the reasoning.
  std::string chat_end;
};

struct PromptLimits {
  int32_t row_tokens_max = 0;      // RunnerLimits: prompt and answer of one row
  int32_t row_tokens_trained = 0;  // RunnerLimits
};

// Const and thread-safe.
class PromptMaker {
 public:
  // `tokenizer` must outlive it.
  PromptMaker(const ModelTokenizer& tokenizer, const PromptLimits& limits);

  // The prompts; or a failure of the request.
  std::variant<Prompts, llm::Failure> make(const llm::Request& request) const;

  // How many tokens all prompts have together; of a chat also when it is too long to be answered.
  std::variant<int64_t, llm::Failure> count(const llm::Request& request) const;

  // How chats mark reasoning and calls; null without a template.
  const chat::ReasoningFormat* reasoning() const;
  const chat::ToolSyntax* tool_syntax() const;

 private:
  std::variant<Prompts, llm::Failure> make_chat(const llm::Request& request) const;
  std::variant<Prompts, llm::Failure> make_chat_of_tokens(const llm::Request& request) const;
  std::variant<Prompts, llm::Failure> make_completion(const llm::Request& request) const;
  std::optional<llm::Failure> check_ids(const std::vector<Token>& tokens,
                                        std::string_view param) const;
  std::optional<llm::Failure> check_bytes(const llm::Request& request, size_t bytes,
                                          std::string_view param) const;
  std::optional<llm::Failure> check_length(const llm::Request& request, size_t tokens,
                                           std::string_view param) const;
  llm::Failure too_long(const llm::Request& request, size_t tokens, bool at_least,
                        std::string_view param) const;
  int32_t prompt_tokens_max(const llm::Request& request) const;

  const ModelTokenizer& tokenizer_;
  const PromptLimits limits_;
};

}  // namespace windrow::engine
