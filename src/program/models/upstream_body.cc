#include "program/models/upstream_body.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <charconv>
#include <optional>
#include <utility>

#include "json/parse.h"
#include "llm/raw_body.h"
#include "program/models/generate_request.h"
#include "program/models/unusable_answer.h"

namespace windrow::program {

namespace json = boost::json;

namespace {

constexpr std::string_view kChoiceMember = "choice";

// 0.7 and not 0.699999988.
double shortest(float number) {
  const std::string text = fmt::to_string(number);
  double value = number;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

json::object schema_format(json::value schema) {
  return {{"type", "json_schema"},
          {"json_schema", {{"name", "answer"}, {"strict", true}, {"schema", std::move(schema)}}}};
}

// An object, because a schema of OpenAI's API cannot be one of a text.
json::value schema_of(const std::vector<std::string>& choices) {
  return {{"type", "object"},
          {"properties",
           {{kChoiceMember,
             {{"type", "string"}, {"enum", json::array(choices.begin(), choices.end())}}}}},
          {"required", json::array({kChoiceMember})},
          {"additionalProperties", false}};
}

void add_structure(const llm::StructureSpec& spec, json::object& body) {
  switch (spec.kind) {
    case llm::StructureSpec::Kind::kJsonSchema: {
      auto schema = parse_json(spec.text);
      // A text that is no JSON goes as it is: the server says what it has against it.
      auto* value = std::get_if<json::value>(&schema);
      body["response_format"] =
          schema_format(value != nullptr ? std::move(*value) : json::value(spec.text));
      return;
    }
    case llm::StructureSpec::Kind::kChoice:
      body["response_format"] = schema_format(schema_of(spec.choices));
      return;
    case llm::StructureSpec::Kind::kRegex:
      // Known to vLLM since 0.11 and to Windrow. OpenAI's API has nothing like it, SGLang and older
      // vLLM have names of their own, and Windrow refuses two of them in one body.
      body["structured_outputs"] = {{"regex", spec.text}};
      return;
    default:
      body["response_format"] = {{"type", "json_object"}};
      return;
  }
}

// The text of a choice out of the object, or the text itself, that stands for it.
std::optional<std::string> unwrapped(std::string_view text) {
  auto parsed = parse_json(text);
  const auto* value = std::get_if<json::value>(&parsed);
  if (value != nullptr && value->is_object())
    value = value->get_object().if_contains(kChoiceMember);
  if (value == nullptr || !value->is_string()) return std::nullopt;
  return std::string(value->get_string());
}

}  // namespace

llm::Request upstream_request(std::string_view model, Prompt prompt, const GenerateOptions& options,
                              int32_t output_tokens_default) {
  json::object body;
  body["model"] = model;
  if (prompt.is_raw) {
    body["prompt"] = std::move(prompt.text);
  } else {
    add_thinking(options.thinking, prompt.chat);
    body["messages"] = std::move(prompt.chat.messages);
    json::object arguments = std::move(prompt.chat.template_arguments);
    for (auto& [name, value] : prompt.chat.wishes) {
      if (!arguments.contains(name)) arguments[name] = std::move(value);
    }
    if (!arguments.empty()) body["chat_template_kwargs"] = std::move(arguments);
  }
  body["max_tokens"] = options.output_tokens_max.value_or(output_tokens_default);
  if (options.temperature) body["temperature"] = shortest(*options.temperature);
  if (options.top_p) body["top_p"] = shortest(*options.top_p);
  // Servers say all tokens by -1 or by nothing.
  if (options.top_k && *options.top_k > 0) body["top_k"] = *options.top_k;
  if (options.min_p) body["min_p"] = shortest(*options.min_p);
  // Servers take whole numbers of 64 bits with a sign.
  body["seed"] = static_cast<int64_t>(options.seed);
  if (!options.stop.empty()) body["stop"] = json::array(options.stop.begin(), options.stop.end());
  if (options.structured) {
    add_structure(*options.structured, body);
    // Windrow's name, which it takes beside a structure alone.
    if (options.thought_tokens_max && !prompt.is_raw)
      body["max_reasoning_tokens"] = *options.thought_tokens_max;
  }
  const llm::Endpoint endpoint =
      prompt.is_raw ? llm::Endpoint::kCompletions : llm::Endpoint::kChatCompletions;
  return llm::raw_request(endpoint, json::serialize(body), body, {});
}

std::variant<GenerateReply, llm::Failure> read_upstream_reply(
    const llm::Answer& answer, const std::vector<std::string>& choices) {
  std::optional<llm::Answer> read = llm::read_raw_answer(answer.raw);
  if (!read || read->choices.empty())
    return unusable_answer("the server's reply is no answer to a chat or a completion");
  GenerateReply reply{.choice = std::move(read->choices.front()), .usage = answer.usage};
  llm::Choice& choice = reply.choice;
  if (choice.refusal) {
    return llm::Failure{.status = 422,
                        .code = "refused_by_model",
                        .message = fmt::format("the model refused: {}", *choice.refusal),
                        .param = {}};
  }
  const bool reached_limit = choice.finish_reason == llm::FinishReason::kLength;
  if (reached_limit && answer.truncated) choice.structure = llm::StructureLabel::kTruncated;
  if (choices.empty()) return reply;
  // It may be whole all the same, where the last token that it might have ended it.
  std::optional<std::string> chosen = unwrapped(choice.text);
  if (!chosen || std::ranges::find(choices, *chosen) == choices.end()) {
    if (reached_limit) return reply;
    return unusable_answer(
        "the server's answer is none of the choices: it does not hold answers to a response_format "
        "of the type json_schema; use a server that does");
  }
  choice.text = *std::move(chosen);
  return reply;
}

}  // namespace windrow::program
