#include "program/models/generate_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>

namespace windrow::program {
namespace {

constexpr float kTemperatureMax = 2;
constexpr size_t kStopTextsMax = 16;

llm::Failure invalid_option(std::string_view name, std::string_view is, std::string_view wanted) {
  return {.code = "invalid_value",
          .message = fmt::format("{} of generate is {}; it must be {}", name, is, wanted),
          .param = std::string(name)};
}

std::optional<llm::Failure> share_fault(std::string_view name, std::optional<float> share,
                                        bool zero_too) {
  // Also false for NaN.
  if (!share || (*share <= 1 && (*share > 0 || (zero_too && *share == 0)))) return std::nullopt;
  return invalid_option(name, fmt::to_string(*share),
                        zero_too ? "from 0 to 1" : "above 0, to 1 (use temperature 0 for greedy)");
}

std::string_view param_of(llm::StructureSpec::Kind kind) {
  using Kind = llm::StructureSpec::Kind;
  if (kind == Kind::kRegex) return "regex";
  return kind == Kind::kChoice ? "choice" : "schema";
}

std::optional<llm::Failure> structure_fault(const llm::StructureSpec& spec) {
  if (spec.kind != llm::StructureSpec::Kind::kChoice || !spec.choices.empty()) {
    const bool has_empty = std::ranges::any_of(spec.choices, &std::string::empty);
    if (!has_empty) return std::nullopt;
  }
  return invalid_option("choice",
                        spec.choices.empty() ? "an empty list" : "a list with an empty text",
                        "a list of texts, none empty");
}

}  // namespace

std::optional<llm::Failure> fault_of(const GenerateOptions& options) {
  if (options.output_tokens_max && *options.output_tokens_max < 1)
    return invalid_option("max_tokens", fmt::to_string(*options.output_tokens_max), "1 or more");
  if (options.thought_tokens_max && *options.thought_tokens_max < 0)
    return invalid_option("thought_tokens", fmt::to_string(*options.thought_tokens_max),
                          "0 or more");
  // Also for NaN.
  if (options.temperature &&
      !(*options.temperature >= 0 && *options.temperature <= kTemperatureMax))
    return invalid_option("temperature", fmt::to_string(*options.temperature), "from 0 to 2");
  if (auto fault = share_fault("top_p", options.top_p, false)) return fault;
  if (auto fault = share_fault("min_p", options.min_p, true)) return fault;
  if (options.top_k && *options.top_k < -1)
    return invalid_option("top_k", fmt::to_string(*options.top_k),
                          "1 or more, or 0 for all tokens");
  if (options.stop.size() > kStopTextsMax)
    return invalid_option("stop", fmt::format("{} texts", options.stop.size()), "at most 16");
  if (std::ranges::any_of(options.stop, &std::string::empty))
    return invalid_option("stop", "an empty text", "a text, or a list of texts, none empty");
  return options.structured ? structure_fault(*options.structured) : std::nullopt;
}

void add_thinking(std::optional<bool> thinking, llm::Chat& chat) {
  constexpr std::string_view kName = "enable_thinking";
  if (!thinking || chat.template_arguments.contains(kName) || chat.wishes.contains(kName)) return;
  chat.wishes[kName] = *thinking;
}

llm::Request generate_request(const ContextModel& model, Prompt prompt, GenerateOptions options,
                              int32_t output_tokens_default) {
  llm::Request request;
  request.model = model.name;
  if (prompt.is_raw) {
    request.endpoint = llm::Endpoint::kCompletions;
    request.inputs.push_back({.text = {}, .tokens = std::move(prompt.tokens)});
  } else {
    request.endpoint = llm::Endpoint::kChatCompletions;
    request.chat = std::move(prompt.chat);
    request.chat_tokens = std::move(prompt.tokens);
    add_thinking(options.thinking, request.chat);
    request.reasoning_tokens_max = options.thought_tokens_max;
  }
  llm::Sampling& sampling = request.sampling;
  sampling.temperature = options.temperature.value_or(sampling.temperature);
  sampling.top_p = options.top_p.value_or(sampling.top_p);
  sampling.top_k = std::max(options.top_k.value_or(sampling.top_k), 0);
  sampling.min_p = options.min_p.value_or(sampling.min_p);
  sampling.seed = options.seed;
  request.output_tokens_max = options.output_tokens_max.value_or(output_tokens_default);
  request.stop = std::move(options.stop);
  request.structured = std::move(options.structured);
  if (request.structured && request.structured->param.empty())
    request.structured->param = param_of(request.structured->kind);
  request.return_token_ids = true;
  return request;
}

}  // namespace windrow::program
