#include "upstream/ollama_context.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <charconv>
#include <utility>

#include "base/format.h"
#include "json/limits.h"
#include "json/members.h"
#include "json/values.h"

namespace windrow::upstream {

namespace json = boost::json;

namespace {

constexpr int64_t kBytesPerTokenMax = 12;
constexpr size_t kRunPeriodMax = 4;

// Answers before the mean is used; and how far above it a cut prompt is: at least twice.
constexpr int64_t kAnswersMin = 20;
constexpr double kCutRatio = 1.5;

// Tokens at the beginning and the end that a version may add or leave out.
constexpr int64_t kMargin = 2;

std::optional<json::value> parse(std::string_view text) {
  boost::system::error_code error;
  json::value value = json::parse(json::string_view(text.data(), text.size()), error, {},
                                  {.max_depth = kJsonDepthMax});
  return error ? std::nullopt : std::optional(std::move(value));
}

int64_t number_in(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains(name);
  return value != nullptr && value->is_int64() ? value->get_int64() : 0;
}

std::string with_tag(std::string_view model) {
  const bool tagged = model.find(':', model.rfind('/') + 1) != std::string_view::npos;
  return tagged ? std::string(model) : fmt::format("{}:latest", model);
}

// "num_ctx    8192": one parameter to a line, with blanks between.
std::optional<int64_t> parameter(std::string_view lines, std::string_view name) {
  while (!lines.empty()) {
    const size_t end = std::min(lines.find('\n'), lines.size());
    std::string_view line = lines.substr(0, end);
    lines.remove_prefix(std::min(end + 1, lines.size()));
    if (!line.starts_with(name)) continue;
    line.remove_prefix(name.size());
    const size_t value_at = line.find_first_not_of(" \t");
    if (value_at == 0 || value_at == std::string_view::npos) continue;
    line.remove_prefix(value_at);
    int64_t value = 0;
    if (std::from_chars(line.data(), line.data() + line.size(), value).ec == std::errc())
      return value;
  }
  return std::nullopt;
}

// The context it was trained with; the key begins with the name of the architecture.
int64_t trained_context(const json::object& show) {
  const json::object* info = object_in(show, "model_info");
  if (info == nullptr) return 0;
  constexpr std::string_view kName = ".context_length";
  for (const auto& [key, value] : *info) {
    if (std::string_view(key).ends_with(kName) && value.is_int64()) return value.get_int64();
  }
  return 0;
}

int64_t counted_bytes(std::string_view text) {
  int64_t bytes = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const std::string_view before =
        text.substr(i - std::min(i, kRunPeriodMax), std::min(i, kRunPeriodMax));
    bytes += before.find(text[i]) == std::string_view::npos ? 1 : 0;
  }
  return bytes;
}

// The content of a message: a text, or parts of which some are texts.
int64_t content_bytes(const json::value* content) {
  if (content == nullptr) return 0;
  if (content->is_string()) return counted_bytes(content->get_string());
  int64_t bytes = 0;
  if (const json::array* parts = content->if_array()) {
    for (const json::value& part : *parts) {
      if (const json::object* object = part.if_object())
        bytes += counted_bytes(text_in(*object, "text"));
    }
  }
  return bytes;
}

// A prompt or an input: a text, token ids, or a list of either.
int64_t input_tokens(const json::value* input) {
  if (input == nullptr) return 0;
  if (input->is_string()) return counted_bytes(input->get_string()) / kBytesPerTokenMax;
  const json::array* list = input->if_array();
  if (list == nullptr || list->empty()) return 0;
  if (list->front().is_number()) return std::ssize(*list);
  int64_t most = 0;
  for (const json::value& one : *list)
    most = std::max(most, input_tokens(&one));
  return most;
}

std::string how_to_raise(std::string_view model) {
  return fmt::format(
      "raise it on the server with OLLAMA_CONTEXT_LENGTH, or for this model with "
      "\"PARAMETER num_ctx\" in a Modelfile that is FROM {}, and run the row again",
      model);
}

bool is_half_cut(int64_t prompt_tokens, const OllamaContext& context) {
  for (const int64_t keep : {context.keep, context.keep + 1}) {
    const int64_t kept = std::clamp<int64_t>(keep, 0, context.tokens - 1);
    if (prompt_tokens == context.tokens - std::max<int64_t>((context.tokens - kept) / 2, 1))
      return true;
  }
  return false;
}

}  // namespace

int64_t loaded_context(std::string_view ps_body, std::string_view model) {
  const std::optional<json::value> body = parse(ps_body);
  const json::object* top = body ? body->if_object() : nullptr;
  const json::value* models = top == nullptr ? nullptr : top->if_contains("models");
  if (models == nullptr || !models->is_array()) return 0;
  const std::string wanted = with_tag(model);
  for (const json::value& entry : models->get_array()) {
    const json::object* one = entry.if_object();
    if (one == nullptr) continue;
    for (const std::string_view name : {text_in(*one, "name"), text_in(*one, "model")}) {
      if (!name.empty() && with_tag(name) == wanted)
        return std::max<int64_t>(number_in(*one, "context_length"), 0);
    }
  }
  return 0;
}

OllamaContext context_of(std::string_view show_body, int64_t loaded_tokens) {
  OllamaContext context{.tokens = loaded_tokens};
  const std::optional<json::value> body = parse(show_body);
  const json::object* show = body ? body->if_object() : nullptr;
  if (show == nullptr) return context;
  if (const json::object* details = object_in(*show, "details")) {
    const std::string_view format = text_in(*details, "format");
    if (!format.empty() && format != "gguf") return {};
  }
  const std::string_view parameters = text_in(*show, "parameters");
  if (const auto keep = parameter(parameters, "num_keep"); keep && *keep >= 0) context.keep = *keep;
  if (context.tokens > 0) return context;
  const int64_t trained = trained_context(*show);
  const int64_t asked = parameter(parameters, "num_ctx").value_or(0);
  context.tokens = asked > 0 && trained > 0 ? std::min(asked, trained) : std::max(asked, trained);
  return context;
}

int64_t prompt_tokens_at_least(const llm::Request& request) {
  const std::optional<json::value> value = parse(request.raw);
  const json::object* body = value ? value->if_object() : nullptr;
  if (body == nullptr) return 0;
  switch (request.endpoint) {
    case llm::Endpoint::kChatCompletions: {
      const json::value* messages = body->if_contains("messages");
      if (messages == nullptr || !messages->is_array()) return 0;
      int64_t bytes = 0;
      for (const json::value& message : messages->get_array()) {
        if (const json::object* one = message.if_object())
          bytes += content_bytes(one->if_contains("content"));
      }
      return bytes / kBytesPerTokenMax;
    }
    case llm::Endpoint::kCompletions:
      return input_tokens(body->if_contains("prompt"));
    case llm::Endpoint::kEmbeddings:
      return input_tokens(body->if_contains("input"));
    case llm::Endpoint::kRerank:
      return 0;
  }
  return 0;
}

std::optional<llm::Failure> too_long(const llm::Request& request, const OllamaContext& context,
                                     const std::string& server) {
  // Most rows are far too small, and need not be read for this.
  if (context.tokens <= 0 || std::ssize(request.raw) / 2 <= context.tokens) return std::nullopt;
  const int64_t tokens = prompt_tokens_at_least(request);
  if (tokens <= context.tokens) return std::nullopt;
  return llm::Failure{
      .failure_class = llm::FailureClass::kRequest,
      .status = 400,
      .code = "context_length_exceeded",
      .message =
          fmt::format("the maximum context length is {} tokens for {} at {}, and the prompt "
                      "has at least {}: Ollama would cut it silently, so it was not "
                      "sent; {}",
                      context.tokens, request.model, server, tokens, how_to_raise(request.model)),
      .param = request.endpoint == llm::Endpoint::kChatCompletions ? "messages" : "",
      .prompt_excess = llm::PromptExcess{.tokens = tokens, .tokens_max = context.tokens}};
}

void BytesPerToken::add(int64_t bytes, int64_t tokens) {
  if (bytes <= 0 || tokens <= 0) return;
  ++answers_;
  bytes_ += bytes;
  tokens_ += tokens;
}

double BytesPerToken::mean() const {
  if (answers_ < kAnswersMin) return 0;
  return static_cast<double>(bytes_) / static_cast<double>(tokens_);
}

PromptFate fate_of(const llm::Request& request, int64_t body_bytes, int64_t prompt_tokens,
                   const OllamaContext& context, const BytesPerToken& others) {
  if (context.tokens <= 0 || prompt_tokens <= 0) return PromptFate::kWhole;
  if (request.endpoint == llm::Endpoint::kEmbeddings) {
    // Of several inputs only the sum is known, and nothing follows from it.
    if (request.inputs.size() != 1) return PromptFate::kWhole;
    if (prompt_tokens > context.tokens) return PromptFate::kContextWrong;
    return prompt_tokens >= context.tokens - kMargin ? PromptFate::kCut : PromptFate::kWhole;
  }
  if (prompt_tokens > context.tokens) return PromptFate::kContextWrong;
  if (prompt_tokens >= context.tokens - 1) return PromptFate::kCut;
  if (!is_half_cut(prompt_tokens, context)) return PromptFate::kWhole;
  if (body_bytes <= 0) return PromptFate::kCut;
  const double ratio = static_cast<double>(body_bytes) / static_cast<double>(prompt_tokens);
  // A cut prompt had more than twice as many tokens, and a token has a byte at least.
  if (ratio < 2) return PromptFate::kWhole;
  return others.mean() > 0 && ratio < kCutRatio * others.mean() ? PromptFate::kWhole
                                                                : PromptFate::kCut;
}

llm::Failure cut_failure(llm::Answer answer, const std::string& model, const OllamaContext& context,
                         const std::string& server) {
  return {
      .failure_class = llm::FailureClass::kRequest,
      .status = 400,
      .code = "context_length_exceeded",
      .message = fmt::format("{} cut the prompt silently: {} has a context of {} tokens "
                             "there, and {} of the prompt were read. An answer over the rest is "
                             "none; {}",
                             server, model, with_thousands(context.tokens),
                             with_thousands(answer.usage.prompt_tokens), how_to_raise(model)),
      .param = {},
      .overloaded = false,
      .retry_after_ms = {},
      .raw = std::move(answer.raw),
      .usage = answer.usage};
}

}  // namespace windrow::upstream
