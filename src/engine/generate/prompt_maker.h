// PromptMaker: what a request asks, as the tokens a model sees - or why it cannot be asked. It does
// on the caller's thread what needs no model: chat template, tokens, the limits of a context.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "chat/chat_template.h"
#include "engine/host/prompt_tokens.h"
#include "engine/host/vocabulary.h"
#include "llm/answer.h"
#include "llm/request.h"

namespace windrow::engine {

struct Prompts {
  // One per input of a completion; one of a chat.
  std::vector<std::vector<Token>> tokens;

  // How a chat's prompt ends: it may have opened the model's thoughts.
  std::string chat_end;
};

struct PromptLimits {
  int32_t row_tokens_max = 0;      // prompt and answer of one row
  int32_t row_tokens_trained = 0;  // RunnerLimits
  int64_t now_unix_s = 0;          // the date a template is told; one for a whole job
};

// Const and thread-safe.
class PromptMaker {
 public:
  // `vocabulary` must outlive this. `chat_template` is an error for a model that has none or one
  // that cannot be used; its text then answers every chat request.
  PromptMaker(const Vocabulary& vocabulary, Result<chat::ChatTemplate> chat_template,
              const PromptLimits& limits);

  std::variant<Prompts, llm::Failure> make(const llm::Request& request) const;

  // Tokens of all prompts together; of a chat also where it is too long to be answered.
  std::variant<int64_t, llm::Failure> count(const llm::Request& request) const;

  // Of chats; nothing when there is no template.
  const chat::ReasoningFormat* reasoning() const;
  const chat::ToolSyntax* tool_syntax() const;

 private:
  boost::json::object template_arguments(const llm::Chat& chat) const;
  std::variant<jinja::Rendered, llm::Failure> render_chat(const llm::Request& request) const;
  std::vector<Token> tokens_of_chat(const jinja::Rendered& rendered) const;
  std::variant<Prompts, llm::Failure> make_chat(const llm::Request& request) const;
  std::variant<Prompts, llm::Failure> make_completion(const llm::Request& request) const;
  void put_begin_in_front(std::vector<Token>& tokens) const;
  std::optional<llm::Failure> check_ids(const std::vector<Token>& tokens,
                                        std::string_view param) const;
  std::optional<llm::Failure> check_bytes(const llm::Request& request, size_t bytes,
                                          std::string_view param) const;
  std::optional<llm::Failure> check_length(const llm::Request& request, size_t tokens,
                                           std::string_view param) const;
  llm::Failure too_long(const llm::Request& request, size_t tokens, bool at_least,
                        std::string_view param) const;
  int32_t prompt_tokens_max(const llm::Request& request) const;

  const Vocabulary& vocabulary_;
  const PromptTokens prompt_tokens_;
  const Result<chat::ChatTemplate> chat_template_;
  const PromptLimits limits_;
};

}  // namespace windrow::engine
