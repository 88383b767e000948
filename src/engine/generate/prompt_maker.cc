#include "engine/generate/prompt_maker.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace windrow::engine {
namespace {

llm::Failure request_failure(std::string_view code, std::string message, std::string_view param) {
  return llm::Failure{
      .code = std::string(code), .message = std::move(message), .param = std::string(param)};
}

size_t prompt_bytes(const jinja::Rendered& rendered) {
  size_t bytes = 0;
  for (const jinja::Segment& segment : rendered.segments)
    bytes += segment.text.size();
  return bytes;
}

std::string end_of(const jinja::Rendered& rendered) {
  constexpr size_t kEndBytes = ModelTokenizer::kPromptEndBytes;
  std::string end;
  for (auto segment = rendered.segments.rbegin();
       segment != rendered.segments.rend() && end.size() < kEndBytes; ++segment) {
    end.insert(0, segment->text);
  }
  return end.substr(end.size() - std::min(end.size(), kEndBytes));
}

}  // namespace

PromptMaker::PromptMaker(const ModelTokenizer& tokenizer, const PromptLimits& limits)
    : tokenizer_(tokenizer), limits_(limits) {}

const chat::ReasoningFormat* PromptMaker::reasoning() const {
  const auto& made = tokenizer_.chat_template();
  return made ? &made->reasoning() : nullptr;
}

const chat::ToolSyntax* PromptMaker::tool_syntax() const {
  const auto& made = tokenizer_.chat_template();
  return made ? &made->tool_syntax() : nullptr;
}

std::variant<Prompts, llm::Failure> PromptMaker::make(const llm::Request& request) const {
  if (auto failure = check_ids(request.stop_tokens, "stop_token_ids")) return *std::move(failure);
  return request.endpoint == llm::Endpoint::kChatCompletions ? make_chat(request)
                                                             : make_completion(request);
}

std::variant<int64_t, llm::Failure> PromptMaker::count(const llm::Request& request) const {
  if (!request.chat_tokens.empty()) return std::ssize(request.chat_tokens);
  if (request.endpoint == llm::Endpoint::kChatCompletions) {
    std::variant<jinja::Rendered, llm::Failure> written = tokenizer_.write(request.chat);
    if (auto* failure = std::get_if<llm::Failure>(&written)) return std::move(*failure);
    return std::ssize(tokenizer_.tokens_of(std::get<jinja::Rendered>(written)));
  }
  std::variant<Prompts, llm::Failure> made = make_completion(request);
  if (auto* failure = std::get_if<llm::Failure>(&made)) return std::move(*failure);
  int64_t tokens = 0;
  for (const std::vector<Token>& prompt : std::get<Prompts>(made).tokens)
    tokens += std::ssize(prompt);
  return tokens;
}

// The prompt that the request gives as tokens. How its answer is read depends on the model's
// template as ever.
std::variant<Prompts, llm::Failure> PromptMaker::make_chat_of_tokens(
    const llm::Request& request) const {
  constexpr std::string_view kParam = "prompt_token_ids";
  const std::vector<Token>& tokens = request.chat_tokens;
  const auto& chat_template = tokenizer_.chat_template();
  if (!chat_template && !request.chat.tools.empty())
    return request_failure("unsupported_by_model", chat_template.error().message, "tools");
  if (auto failure = check_ids(tokens, kParam)) return *std::move(failure);
  if (auto failure = check_length(request, tokens.size(), kParam)) return *std::move(failure);
  return Prompts{.tokens = {tokens}, .chat_end = tokenizer_.end_of(tokens)};
}

std::variant<Prompts, llm::Failure> PromptMaker::make_chat(const llm::Request& request) const {
  if (!request.chat_tokens.empty()) return make_chat_of_tokens(request);
  std::variant<jinja::Rendered, llm::Failure> written = tokenizer_.write(request.chat);
  if (auto* failure = std::get_if<llm::Failure>(&written)) return std::move(*failure);
  const auto& rendered = std::get<jinja::Rendered>(written);
  if (auto failure = check_bytes(request, prompt_bytes(rendered), "messages")) {
    return *std::move(failure);
  }
  std::vector<Token> tokens = tokenizer_.tokens_of(rendered);
  if (auto failure = check_length(request, tokens.size(), "messages")) return *std::move(failure);
  return Prompts{.tokens = {std::move(tokens)}, .chat_end = end_of(rendered)};
}

std::variant<Prompts, llm::Failure> PromptMaker::make_completion(
    const llm::Request& request) const {
  Prompts prompts;
  for (size_t i = 0; i < request.inputs.size(); ++i) {
    const llm::Input& input = request.inputs[i];
    const std::string param =
        request.inputs.size() == 1 ? std::string("prompt") : fmt::format("prompt[{}]", i);
    std::vector<Token> tokens = input.tokens;
    if (tokens.empty()) {
      if (auto failure = check_bytes(request, input.text.size(), param)) return *std::move(failure);
      // A bare prompt is formatted by the client, control tokens included.
      tokens = tokenizer_.encode(input.text, /*control=*/true, llm::SpecialTokens::kBegin);
    } else if (auto failure = check_ids(tokens, param)) {
      return *std::move(failure);
    }
    if (auto failure = check_length(request, tokens.size(), param)) return *std::move(failure);
    prompts.tokens.push_back(std::move(tokens));
  }
  return prompts;
}

std::optional<llm::Failure> PromptMaker::check_ids(const std::vector<Token>& tokens,
                                                   std::string_view param) const {
  const auto wrong = std::find_if(tokens.begin(), tokens.end(), [&](Token token) {
    return token < 0 || token >= tokenizer_.vocabulary_size();
  });
  if (wrong == tokens.end()) return std::nullopt;
  return request_failure(
      "invalid_value",
      fmt::format("{} holds the token {} at place {}; the model's tokens are 0 "
                  "to {}",
                  param, *wrong, wrong - tokens.begin(), tokenizer_.vocabulary_size() - 1),
      param);
}

// A request that only scores its prompt needs no room for an answer.
int32_t PromptMaker::prompt_tokens_max(const llm::Request& request) const {
  return request.output_tokens_max == 0 ? limits_.row_tokens_max : limits_.row_tokens_max - 1;
}

// Tokenising many megabytes takes seconds: a text that cannot fit by its bytes alone is refused
// before that.
std::optional<llm::Failure> PromptMaker::check_bytes(const llm::Request& request, size_t bytes,
                                                     std::string_view param) const {
  const std::optional<size_t> token_bytes_max = tokenizer_.vocabulary().token_bytes_max();
  if (!token_bytes_max) return std::nullopt;
  const size_t tokens_min = (bytes + *token_bytes_max - 1) / *token_bytes_max;
  if (tokens_min <= static_cast<size_t>(prompt_tokens_max(request))) return std::nullopt;
  return too_long(request, tokens_min, true, param);
}

std::optional<llm::Failure> PromptMaker::check_length(const llm::Request& request, size_t tokens,
                                                      std::string_view param) const {
  if (tokens == 0) {
    return request_failure("empty_prompt",
                           "the prompt has no tokens; there is nothing to go on from", param);
  }
  if (tokens <= static_cast<size_t>(prompt_tokens_max(request))) return std::nullopt;
  return too_long(request, tokens, false, param);
}

// The text is the one that OpenAI clients know, with the numbers that they parse.
llm::Failure PromptMaker::too_long(const llm::Request& request, size_t tokens, bool at_least,
                                   std::string_view param) const {
  const int32_t max = prompt_tokens_max(request);
  const bool could_be_more = limits_.row_tokens_max < limits_.row_tokens_trained;
  llm::Failure failure = request_failure(
      "context_length_exceeded",
      fmt::format("this model's maximum context length is {} tokens, and the prompt has {}{} "
                  "tokens{}; shorten it{}",
                  limits_.row_tokens_max, at_least ? "at least " : "", tokens,
                  max < limits_.row_tokens_max
                      ? fmt::format(", of which at most {} fit beside an answer", max)
                      : "",
                  could_be_more ? fmt::format(", or start with a larger --ctx: the model was "
                                              "trained for {} tokens",
                                              limits_.row_tokens_trained)
                                : ""),
      param);
  failure.prompt_excess = {.tokens = static_cast<int64_t>(tokens), .tokens_max = max};
  return failure;
}

}  // namespace windrow::engine
