// ModelTokenizer: vocabulary and chat template of one model as an llm::Tokenizer. PromptMaker makes
// prompts with it; it needs no weights.
#pragma once

#include <boost/json/object.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "chat/chat_template.h"
#include "chat/increment_patterns.h"
#include "engine/generate/answer_reading.h"
#include "engine/host/prompt_tokens.h"
#include "engine/host/vocabulary.h"
#include "jinja/template.h"
#include "llm/tokenizer.h"

namespace windrow::engine {

// Const and thread-safe.
class ModelTokenizer final : public llm::Tokenizer {
 public:
  // `vocabulary` must outlive it. `chat_template` is an error for a model that has none or one that
  // cannot be used; every chat then fails with its text. `now_unix_s`: the date for the template,
  // the same for a whole job. `context_tokens_max`: what the model was trained for.
  ModelTokenizer(const Vocabulary& vocabulary, Result<chat::ChatTemplate> chat_template,
                 int64_t now_unix_s, int32_t context_tokens_max);

  // As above, and keeps the vocabulary.
  ModelTokenizer(std::shared_ptr<const Vocabulary> vocabulary,
                 Result<chat::ChatTemplate> chat_template, int64_t now_unix_s,
                 int32_t context_tokens_max);

  const Vocabulary& vocabulary() const { return vocabulary_; }

  // kInvalid where chats cannot be rendered.
  const Result<chat::ChatTemplate>& chat_template() const { return chat_template_; }

  const ReadingRules& reading_rules() const { return reading_rules_; }

  // The text of a chat, whose segments are known by who wrote them; or what is wrong with it.
  std::variant<jinja::Rendered, llm::Failure> write(const llm::Chat& chat,
                                                    bool asks_for_answer = true) const;

  // The tokens of such a text, from the beginning of a context on.
  std::vector<Token> tokens_of(const jinja::Rendered& rendered) const;

  // Puts the token that the model wants at the beginning of a context there, unless it is there.
  void prepend_begin_token(std::vector<Token>& tokens) const;

  // How much of the end of a prompt's text can matter to how its answer is read; and that much.
  static constexpr size_t kPromptEndBytes = 256;
  std::string end_of(std::span<const Token> prompt) const;

  int32_t vocabulary_size() const override { return vocabulary_.size(); }
  int32_t context_tokens_max() const override { return context_tokens_max_; }
  std::vector<Token> encode(std::string_view text, bool control,
                            llm::SpecialTokens added) const override;
  void append_piece(Token token, std::string& bytes) const override {
    vocabulary_.append_piece(token, bytes);
  }
  bool is_control(Token token) const override;
  std::variant<llm::RenderedChat, llm::Failure> render(const llm::Chat& chat,
                                                       bool asks_for_answer) const override;
  std::variant<llm::AppendedTokens, llm::Failure> append(const llm::SampledAnswer& answer,
                                                         const llm::Chat& appended) const override;
  std::unique_ptr<llm::AnswerReader> read_answer(const llm::Chat& chat,
                                                 std::span<const Token> prompt,
                                                 llm::ReadingOptions options) const override;

 private:
  boost::json::object template_arguments(const llm::Chat& chat) const;

  const std::shared_ptr<const Vocabulary> kept_;  // null: it is not kept
  const Vocabulary& vocabulary_;
  const PromptTokens prompt_tokens_;
  const Result<chat::ChatTemplate> chat_template_;
  const std::unique_ptr<const chat::IncrementPatterns> increments_;  // null without a template
  const ReadingRules reading_rules_;
  const int64_t now_unix_s_;
  const int32_t context_tokens_max_;
};

}  // namespace windrow::engine
