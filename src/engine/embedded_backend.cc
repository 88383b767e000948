#include "engine/embedded_backend.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace windrow::engine {

EmbeddedBackend::EmbeddedBackend(std::unique_ptr<ModelRunner> runner, const Vocabulary& vocabulary,
                                 Result<ChatFormat> chat_format, const Clock& clock,
                                 const EmbeddedOptions& options)
    : vocabulary_(vocabulary),
      chat_format_(std::move(chat_format)),
      clock_(clock),
      options_(options),
      engine_(std::move(runner), vocabulary, clock, options.step_target) {}

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

Result<std::vector<Token>> EmbeddedBackend::prompt_tokens(const llm::Request& request) const {
  std::vector<Token> tokens;
  if (request.endpoint == llm::Endpoint::kCompletions) {
    // Whoever sends a bare prompt has formatted it, control tokens included.
    append_tokens(request.prompt, ControlTokens::kParsed, tokens);
  } else {
    if (!chat_format_) return chat_format_.error();
    std::string text;  // since the last control token
    for (const PromptPart& part : format_chat(*chat_format_, request.messages)) {
      const std::optional<Token> control = part.control ? control_token(part.text) : std::nullopt;
      if (!control) {
        text += part.text;
        continue;
      }
      append_tokens(text, ControlTokens::kAsText, tokens);
      text.clear();
      tokens.push_back(*control);
    }
    append_tokens(text, ControlTokens::kAsText, tokens);
  }
  // A prompt that brings the token itself does not get it twice.
  const std::optional<Token> begin = vocabulary_.begin_token();
  if (begin && (tokens.empty() || tokens.front() != *begin)) tokens.insert(tokens.begin(), *begin);
  return tokens;
}

std::optional<llm::Failure> EmbeddedBackend::check_length(const llm::Request& request,
                                                          size_t prompt_tokens) const {
  const std::string_view param =
      request.endpoint == llm::Endpoint::kCompletions ? "prompt" : "messages";
  if (prompt_tokens == 0) {
    return llm::Failure{.code = "empty_prompt",
                        .message = "the prompt has no tokens; there is nothing to go on from",
                        .param = std::string(param)};
  }
  const auto tokens_max = static_cast<size_t>(limits().row_tokens_max);
  if (prompt_tokens < tokens_max) return std::nullopt;
  return llm::Failure{.code = "context_length_exceeded",
                      .message = fmt::format(
                          "the prompt has {} tokens; with one token to answer, at most {} fit the "
                          "context of {} (--ctx raises it up to what the model was trained for)",
                          prompt_tokens, tokens_max - 1, tokens_max),
                      .param = std::string(param)};
}

void EmbeddedBackend::submit(llm::Request request, Done done) {
  Result<std::vector<Token>> prompt = prompt_tokens(request);
  if (!prompt) {
    // Not this row's fault: no chat of the job can be answered by this model.
    done(llm::Failure{.failure_class = llm::FailureClass::kBackend,
                      .status = 501,
                      .code = "chat_template_unsupported",
                      .message = prompt.error().message,
                      .param = "messages"});
    return;
  }
  if (std::optional<llm::Failure> failure = check_length(request, prompt->size())) {
    done(*std::move(failure));
    return;
  }
  const int32_t context_left = limits().row_tokens_max - static_cast<int32_t>(prompt->size());
  engine_.submit(EngineRequest{
      .prompt = *std::move(prompt),
      .output_tokens_max = std::min(
          request.output_tokens_max.value_or(options_.output_tokens_default), context_left),
      .sampling = request.sampling,
      .stop = std::move(request.stop),
      .ignore_eos = request.ignore_eos,
      .want_tokens = request.want_tokens,
      .submitted_at = clock_.now(),
      .done = std::move(done)});
}

// Twice the rows that can run: while one half decodes, the other is ready to take a place the
// moment it is free.
int32_t EmbeddedBackend::in_flight_target() const {
  return 2 * limits().sequences_max;
}

}  // namespace windrow::engine
