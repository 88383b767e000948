#include "engine/generate/model_tokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "chat/increment.h"
#include "engine/generate/answer_reader.h"
#include "engine/generate/answer_text.h"

namespace windrow::engine {
namespace {

llm::Failure failure_of_template(const chat::Unwritable& unwritable) {
  const std::string& message = unwritable.error.message;
  llm::Failure failure{
      .code = "chat_template_failed",
      .message = fmt::format("the model's chat template cannot write these messages: {}", message),
      .param = unwritable.field};
  if (unwritable.error.kind == ErrorKind::kInvalid) {
    failure.code = "chat_template_refused";
    failure.message = fmt::format("the model's chat template refuses these messages: {}", message);
  } else if (unwritable.error.kind == ErrorKind::kNotFound) {
    failure.code = "unsupported_by_model";
    failure.message = message;
  }
  return failure;
}

std::unique_ptr<const chat::IncrementPatterns> patterns_of(
    const Result<chat::ChatTemplate>& chat_template, int64_t now_unix_s) {
  if (!chat_template) return nullptr;
  return std::make_unique<const chat::IncrementPatterns>(*chat_template, now_unix_s);
}

}  // namespace

ModelTokenizer::ModelTokenizer(const Vocabulary& vocabulary,
                               Result<chat::ChatTemplate> chat_template, int64_t now_unix_s,
                               int32_t context_tokens_max)
    : vocabulary_(vocabulary),
      prompt_tokens_(vocabulary),
      chat_template_(std::move(chat_template)),
      increments_(patterns_of(chat_template_, now_unix_s)),
      reading_rules_(vocabulary_, chat_template_),
      now_unix_s_(now_unix_s),
      context_tokens_max_(context_tokens_max) {}

ModelTokenizer::ModelTokenizer(std::shared_ptr<const Vocabulary> vocabulary,
                               Result<chat::ChatTemplate> chat_template, int64_t now_unix_s,
                               int32_t context_tokens_max)
    : kept_(std::move(vocabulary)),
      vocabulary_(*kept_),
      prompt_tokens_(vocabulary_),
      chat_template_(std::move(chat_template)),
      increments_(patterns_of(chat_template_, now_unix_s)),
      reading_rules_(vocabulary_, chat_template_),
      now_unix_s_(now_unix_s),
      context_tokens_max_(context_tokens_max) {}

// The arguments that were given, and the wishes that the template knows. An effort also says
// whether there is to be reasoning at all.
boost::json::object ModelTokenizer::template_arguments(const llm::Chat& chat) const {
  constexpr std::string_view kSwitch = "enable_thinking";
  boost::json::object arguments = chat.template_arguments;
  for (const auto& [name, value] : chat.wishes) {
    if (chat_template_->knows(name)) arguments.emplace(name, value);
  }
  const boost::json::value* effort = chat.wishes.if_contains("reasoning_effort");
  if (effort != nullptr && chat_template_->knows(kSwitch))
    arguments.emplace(kSwitch, *effort != "none");
  return arguments;
}

std::variant<jinja::Rendered, llm::Failure> ModelTokenizer::write(const llm::Chat& chat,
                                                                  bool asks_for_answer) const {
  if (!chat_template_) {
    return llm::Failure{.code = "unsupported_by_model",
                        .message = chat_template_.error().message,
                        .param = "messages"};
  }
  const boost::json::object arguments = template_arguments(chat);
  std::variant<jinja::Rendered, chat::Unwritable> written =
      chat_template_->render({.messages = chat.messages,
                              .tools = chat.tools,
                              .arguments = arguments,
                              .asks_for_answer = asks_for_answer},
                             now_unix_s_);
  if (const auto* unwritable = std::get_if<chat::Unwritable>(&written))
    return failure_of_template(*unwritable);
  return std::get<jinja::Rendered>(std::move(written));
}

std::vector<Token> ModelTokenizer::tokens_of(const jinja::Rendered& rendered) const {
  std::vector<Token> tokens = prompt_tokens_.of(rendered.segments);
  prepend_begin_token(tokens);
  return tokens;
}

void ModelTokenizer::prepend_begin_token(std::vector<Token>& tokens) const {
  const std::optional<Token> begin = vocabulary_.begin_token();
  if (begin && (tokens.empty() || tokens.front() != *begin)) tokens.insert(tokens.begin(), *begin);
}

std::string ModelTokenizer::end_of(std::span<const Token> prompt) const {
  // Most tokens have a byte at least; those without are few.
  std::string end;
  for (const Token token : prompt.last(std::min(prompt.size(), kPromptEndBytes)))
    vocabulary_.append_piece(token, end);
  end.erase(0, end.size() - std::min(end.size(), kPromptEndBytes));
  return end;
}

std::vector<Token> ModelTokenizer::encode(std::string_view text, bool control,
                                          llm::SpecialTokens added) const {
  const ControlTokens meant = control ? ControlTokens::kParsed : ControlTokens::kAsText;
  if (added == llm::SpecialTokens::kAll) {
    std::vector<Token> tokens = vocabulary_.tokenize_input(text, meant);
    // The text begins with it.
    const std::optional<Token> begin = vocabulary_.begin_token();
    if (begin && tokens.size() > 1 && tokens[0] == *begin && tokens[1] == *begin)
      tokens.erase(tokens.begin());
    return tokens;
  }
  std::vector<Token> tokens = vocabulary_.tokenize(text, meant);
  if (added == llm::SpecialTokens::kBegin) prepend_begin_token(tokens);
  return tokens;
}

bool ModelTokenizer::is_control(Token token) const {
  if (vocabulary_.ends_answer(token)) return true;
  std::string text;
  vocabulary_.append_bytes(token, text);
  if (!text.empty()) return false;
  vocabulary_.append_piece(token, text);
  return !text.empty();
}

std::variant<llm::RenderedChat, llm::Failure> ModelTokenizer::render(const llm::Chat& chat,
                                                                     bool asks_for_answer) const {
  std::variant<jinja::Rendered, llm::Failure> written = write(chat, asks_for_answer);
  if (auto* failure = std::get_if<llm::Failure>(&written)) return std::move(*failure);
  const auto& rendered = std::get<jinja::Rendered>(written);
  return llm::RenderedChat{.text = rendered.text(), .tokens = tokens_of(rendered)};
}

std::variant<llm::AppendedTokens, llm::Failure> ModelTokenizer::append(
    const llm::SampledAnswer& answer, const llm::Chat& appended) const {
  if (!chat_template_) {
    return llm::Failure{.code = "unsupported_by_model",
                        .message = chat_template_.error().message,
                        .param = "messages"};
  }
  std::string end;
  if (!answer.tokens.empty() && vocabulary_.ends_answer(answer.tokens.back()))
    vocabulary_.append_piece(answer.tokens.back(), end);
  const boost::json::object arguments = template_arguments(appended);
  std::variant<chat::Increment, chat::Unwritable> made = increments_->increment_of(
      {.message = answer.message, .end_token = end, .has_system = answer.has_system},
      {.messages = appended.messages, .tools = appended.tools, .arguments = arguments});
  if (const auto* unwritable = std::get_if<chat::Unwritable>(&made))
    return failure_of_template(*unwritable);
  const auto& increment = std::get<chat::Increment>(made);
  return llm::AppendedTokens{.tokens = prompt_tokens_.of(increment.segments),
                             .drops_last = increment.drops_end_token};
}

std::unique_ptr<llm::AnswerReader> ModelTokenizer::read_answer(const llm::Chat& chat,
                                                               std::span<const Token> prompt,
                                                               llm::ReadingOptions options) const {
  AnswerReading reading = reading_rules_.reading_of(chat, end_of(prompt), options.structured);
  const uint64_t seed = reading.tools ? call_seed(prompt, options.seed) : 0;
  return std::make_unique<RowReader>(vocabulary_, std::move(reading), std::move(options), seed);
}

}  // namespace windrow::engine
