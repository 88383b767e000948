#include "engine/embedded_backend.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/fan_out.h"

namespace windrow::engine {
namespace {

std::string_view param_of_prompt(const llm::Request& request) {
  return request.endpoint == llm::Endpoint::kCompletions ? "prompt" : "messages";
}

}  // namespace

EmbeddedBackend::EmbeddedBackend(std::unique_ptr<ModelRunner> runner, const Vocabulary& vocabulary,
                                 Result<ChatFormat> chat_format, const Clock& clock,
                                 const EmbeddedOptions& options)
    : vocabulary_(vocabulary),
      chat_format_(std::move(chat_format)),
      clock_(clock),
      options_(options),
      engine_(std::move(runner), vocabulary, clock, options.step_target, options.sampling_threads) {
}

void EmbeddedBackend::append_tokens(std::string_view text, ControlTokens control,
                                    std::vector<Token>& tokens) const {
  if (text.empty()) return;
  const std::vector<Token> more = vocabulary_.tokenize(text, control);
  tokens.insert(tokens.end(), more.begin(), more.end());
}

// Nothing when the vocabulary has no such token: then the model was trained on it as text, and the
// tokeniser must see it in one piece with what is around it.
std::optional<Token> EmbeddedBackend::control_token(std::string_view text) const {
  const std::vector<Token> tokens = vocabulary_.tokenize(text, ControlTokens::kParsed);
  if (tokens.size() != 1) return std::nullopt;
  return tokens.front();
}

// A bare prompt is one part.
Result<std::vector<PromptPart>> EmbeddedBackend::prompt_parts(const llm::Request& request) const {
  if (request.endpoint == llm::Endpoint::kCompletions) {
    return std::vector<PromptPart>{{.text = request.inputs.at(0).text}};
  }
  if (!chat_format_) return chat_format_.error();
  return format_chat(*chat_format_, request.chat.messages);
}

std::vector<Token> EmbeddedBackend::tokens_of(const llm::Request& request,
                                              const std::vector<PromptPart>& parts) const {
  std::vector<Token> tokens;
  // Whoever sends a bare prompt has formatted it, control tokens included.
  const ControlTokens in_text = request.endpoint == llm::Endpoint::kCompletions
                                    ? ControlTokens::kParsed
                                    : ControlTokens::kAsText;
  std::string text;  // since the last control token
  for (const PromptPart& part : parts) {
    const std::optional<Token> control = part.control ? control_token(part.text) : std::nullopt;
    if (!control) {
      text += part.text;
      continue;
    }
    append_tokens(text, in_text, tokens);
    text.clear();
    tokens.push_back(*control);
  }
  append_tokens(text, in_text, tokens);
  // A prompt that brings the token itself does not get it twice.
  const std::optional<Token> begin = vocabulary_.begin_token();
  if (begin && (tokens.empty() || tokens.front() != *begin)) tokens.insert(tokens.begin(), *begin);
  return tokens;
}

std::variant<std::vector<Token>, llm::Failure> EmbeddedBackend::prompt_tokens(
    const llm::Request& request) const {
  const Result<std::vector<PromptPart>> parts = prompt_parts(request);
  if (!parts) {
    // Not this row's fault: no chat of the job can be answered by this model.
    return llm::Failure{.failure_class = llm::FailureClass::kBackend,
                        .status = 501,
                        .code = "chat_template_unsupported",
                        .message = parts.error().message,
                        .param = "messages"};
  }
  if (std::optional<llm::Failure> failure = check_bytes(request, *parts))
    return *std::move(failure);
  std::vector<Token> tokens = tokens_of(request, *parts);
  if (std::optional<llm::Failure> failure = check_length(request, tokens.size())) {
    return *std::move(failure);
  }
  return tokens;
}

// Tokenising takes seconds where a text is many megabytes: what cannot fit by its bytes alone is
// refused before that.
std::optional<llm::Failure> EmbeddedBackend::check_bytes(
    const llm::Request& request, const std::vector<PromptPart>& parts) const {
  const std::optional<size_t> token_bytes_max = vocabulary_.token_bytes_max();
  if (!token_bytes_max) return std::nullopt;
  size_t bytes = 0;
  for (const PromptPart& part : parts)
    bytes += part.text.size();
  const size_t tokens_min = (bytes + *token_bytes_max - 1) / *token_bytes_max;
  if (tokens_min < static_cast<size_t>(limits().row_tokens_max)) return std::nullopt;
  return too_long(request, fmt::format("at least {}", tokens_min));
}

std::optional<llm::Failure> EmbeddedBackend::check_length(const llm::Request& request,
                                                          size_t prompt_tokens) const {
  if (prompt_tokens == 0) {
    return llm::Failure{.code = "empty_prompt",
                        .message = "the prompt has no tokens; there is nothing to go on from",
                        .param = std::string(param_of_prompt(request))};
  }
  if (prompt_tokens < static_cast<size_t>(limits().row_tokens_max)) return std::nullopt;
  return too_long(request, fmt::format("{}", prompt_tokens));
}

llm::Failure EmbeddedBackend::too_long(const llm::Request& request, std::string_view count) const {
  const int32_t tokens_max = limits().row_tokens_max;
  return llm::Failure{.code = "context_length_exceeded",
                      .message = fmt::format(
                          "the prompt has {} tokens; with one token to answer, at most {} fit the "
                          "context of {} (--ctx raises it up to what the model was trained for)",
                          count, tokens_max - 1, tokens_max),
                      .param = std::string(param_of_prompt(request))};
}

void EmbeddedBackend::submit(llm::Request request, Done done) {
  std::variant<std::vector<Token>, llm::Failure> prompt = prompt_tokens(request);
  if (auto* failure = std::get_if<llm::Failure>(&prompt)) {
    done(std::move(*failure));
    return;
  }
  std::vector<std::vector<Token>> prompts;
  prompts.push_back(std::get<std::vector<Token>>(std::move(prompt)));
  engine_.submit(fan_out(std::move(request), std::move(prompts), vocabulary_,
                         {.row_tokens_max = limits().row_tokens_max,
                          .output_tokens_default = options_.output_tokens_default},
                         clock_.now(), std::move(done)));
}

// Twice the rows that can run: while one half decodes, the other is ready to take a place the
// moment it is free.
int32_t EmbeddedBackend::in_flight_target() const {
  return 2 * limits().sequences_max;
}

}  // namespace windrow::engine
