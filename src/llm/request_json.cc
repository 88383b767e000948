#include "llm/request_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <cmath>
#include <limits>
#include <string>

namespace windrow::llm {

namespace json = boost::json;

namespace {

// How each honoured field is read; a null value means the same as an absent one, as in the API.
// Returns the failure, or nothing.
using Problem = std::optional<Failure>;
using Reader = Problem (*)(const json::value& value, Request& request);

struct Field {
  FieldRule rule;
  Reader read;
};

Failure bad_value(std::string_view param, std::string message) {
  return Failure{.failure_class = FailureClass::kRequest,
                 .status = 400,
                 .code = "invalid_value",
                 .message = std::move(message),
                 .param = std::string(param)};
}

Failure unsupported(std::string_view param, std::string message) {
  return Failure{.failure_class = FailureClass::kRequest,
                 .status = 400,
                 .code = "unsupported_parameter",
                 .message = std::move(message),
                 .param = std::string(param)};
}

std::string_view kind_name(const json::value& value) {
  switch (value.kind()) {
    case json::kind::null:
      return "null";
    case json::kind::bool_:
      return "a boolean";
    case json::kind::int64:
    case json::kind::uint64:
    case json::kind::double_:
      return "a number";
    case json::kind::string:
      return "a string";
    case json::kind::array:
      return "an array";
    case json::kind::object:
      return "an object";
  }
  return "something else";
}

Problem read_number(const json::value& value, std::string_view param, double min, double max,
                    double& number) {
  boost::system::error_code error;
  number = value.is_number() ? value.to_number<double>(error) : 0;
  if (!value.is_number() || error) {
    return bad_value(param, fmt::format("{} must be a number from {} to {}, not {}", param, min,
                                        max, kind_name(value)));
  }
  if (!(number >= min && number <= max)) {
    return bad_value(param,
                     fmt::format("{} is {}; it must be from {} to {}", param, number, min, max));
  }
  return std::nullopt;
}

Problem read_integer(const json::value& value, std::string_view param, int64_t min, int64_t max,
                     int64_t& number) {
  boost::system::error_code error;
  number = value.is_number() ? value.to_number<int64_t>(error) : 0;
  if (!value.is_number() || error) {
    return bad_value(
        param,
        fmt::format("{} must be a whole number from {} to {}, not {}", param, min, max,
                    value.is_number() ? json::serialize(value) : std::string(kind_name(value))));
  }
  if (number < min || number > max) {
    return bad_value(param,
                     fmt::format("{} is {}; it must be from {} to {}", param, number, min, max));
  }
  return std::nullopt;
}

Problem read_float(const json::value& value, std::string_view param, double min, double max,
                   float& target) {
  double number = 0;
  if (Problem problem = read_number(value, param, min, max, number)) return problem;
  target = static_cast<float>(number);
  return std::nullopt;
}

Problem read_model(const json::value& value, Request& request) {
  if (!value.is_string()) {
    return bad_value("model", fmt::format("model must be a string, not {}", kind_name(value)));
  }
  request.model = value.get_string();
  return std::nullopt;
}

// A content is a string or an array of {"type": "text", "text": ...} parts, which are joined.
Problem read_content(const json::value& content, const std::string& param, std::string& text) {
  if (content.is_string()) {
    text = content.get_string();
    return std::nullopt;
  }
  if (content.is_null()) return std::nullopt;
  const json::array* parts = content.if_array();
  if (parts == nullptr) {
    return bad_value(param, fmt::format("{} must be a string or an array of text parts, not {}",
                                        param, kind_name(content)));
  }
  for (size_t i = 0; i < parts->size(); ++i) {
    const json::object* part = (*parts)[i].if_object();
    const json::value* type = part != nullptr ? part->if_contains("type") : nullptr;
    const json::value* part_text = part != nullptr ? part->if_contains("text") : nullptr;
    if (type == nullptr || !type->is_string()) {
      return bad_value(param, fmt::format("{}[{}] must be an object with a type", param, i));
    }
    if (type->get_string() != "text") {
      return unsupported(param, fmt::format("{}[{}] is of type {}; only text parts are accepted",
                                            param, i, std::string_view(type->get_string())));
    }
    if (part_text == nullptr || !part_text->is_string()) {
      return bad_value(param, fmt::format("{}[{}] has no text", param, i));
    }
    text += part_text->get_string();
  }
  return std::nullopt;
}

constexpr std::array<std::string_view, 5> kRoles = {"system", "developer", "user", "assistant",
                                                    "tool"};

Problem read_message(const json::value& value, size_t index, json::object& message) {
  const std::string param = fmt::format("messages[{}]", index);
  const json::object* object = value.if_object();
  if (object == nullptr) {
    return bad_value(param, fmt::format("{} must be an object with role and content, not {}", param,
                                        kind_name(value)));
  }
  std::string role;
  std::string content;
  bool has_content = false;
  for (const auto& [key, field] : *object) {
    if (key == "role") {
      if (!field.is_string())
        return bad_value(param, fmt::format("{}.role must be a string", param));
      role = field.get_string();
    } else if (key == "content") {
      has_content = !field.is_null();
      if (Problem problem = read_content(field, param + ".content", content)) {
        return problem;
      }
    } else if (key == "name" || key == "refusal") {
      continue;  // the prompt formats in use have no place for them
    } else if (field.is_null() || (field.is_array() && field.get_array().empty())) {
      continue;  // an answer that is sent back has "annotations": [] and such
    } else {
      return unsupported(fmt::format("{}.{}", param, std::string_view(key)),
                         fmt::format("{}.{} is not supported; a message has role and content",
                                     param, std::string_view(key)));
    }
  }
  if (std::find(kRoles.begin(), kRoles.end(), role) == kRoles.end()) {
    return bad_value(param + ".role",
                     fmt::format("{}.role is \"{}\"; it must be system, developer, user, assistant "
                                 "or tool",
                                 param, role));
  }
  if (!has_content) {
    return bad_value(param + ".content", fmt::format("{} has no content", param));
  }
  message = {{"role", role}, {"content", content}};
  return std::nullopt;
}

Problem read_messages(const json::value& value, Request& request) {
  const json::array* messages = value.if_array();
  if (messages == nullptr || messages->empty()) {
    return bad_value("messages",
                     fmt::format("messages must be an array with at least one message, "
                                 "not {}",
                                 messages != nullptr ? "an empty one" : kind_name(value)));
  }
  for (size_t i = 0; i < messages->size(); ++i) {
    json::object message;
    if (Problem problem = read_message((*messages)[i], i, message)) return problem;
    request.chat.messages.emplace_back(std::move(message));
  }
  return std::nullopt;
}

Problem read_prompt(const json::value& value, Request& request) {
  if (!value.is_string()) {
    return bad_value("prompt", fmt::format("prompt must be one string, not {}", kind_name(value)));
  }
  request.inputs.push_back(Input{.text = std::string(value.get_string()), .tokens = {}});
  return std::nullopt;
}

// Zero is left out on purpose: a request that may say nothing is a mistake more often than a wish.
Problem read_output_max(const json::value& value, std::string_view param, Request& request) {
  int64_t number = 0;
  constexpr int64_t kMax = std::numeric_limits<int32_t>::max();
  if (Problem problem = read_integer(value, param, 1, kMax, number)) return problem;
  const auto tokens = static_cast<int32_t>(number);
  if (request.output_tokens_max && *request.output_tokens_max != tokens) {
    return bad_value(param, "max_tokens and max_completion_tokens differ; give one of them");
  }
  request.output_tokens_max = tokens;
  return std::nullopt;
}

Problem read_max_tokens(const json::value& value, Request& request) {
  return read_output_max(value, "max_tokens", request);
}

Problem read_max_completion_tokens(const json::value& value, Request& request) {
  return read_output_max(value, "max_completion_tokens", request);
}

Problem read_temperature(const json::value& value, Request& request) {
  return read_float(value, "temperature", 0, 2, request.sampling.temperature);
}

Problem read_top_p(const json::value& value, Request& request) {
  if (Problem problem = read_float(value, "top_p", 0, 1, request.sampling.top_p)) return problem;
  if (request.sampling.top_p > 0) return std::nullopt;
  return bad_value("top_p", "top_p is 0; it must be above 0 (use temperature 0 for greedy)");
}

Problem read_top_k(const json::value& value, Request& request) {
  int64_t number = 0;
  constexpr int64_t kMax = std::numeric_limits<int32_t>::max();
  if (Problem problem = read_integer(value, "top_k", -1, kMax, number)) return problem;
  request.sampling.top_k = number < 0 ? 0 : static_cast<int32_t>(number);  // vLLM says all by -1
  return std::nullopt;
}

Problem read_min_p(const json::value& value, Request& request) {
  return read_float(value, "min_p", 0, 1, request.sampling.min_p);
}

Problem read_seed(const json::value& value, Request& request) {
  int64_t number = 0;
  if (Problem problem = read_integer(value, "seed", std::numeric_limits<int64_t>::min(),
                                     std::numeric_limits<int64_t>::max(), number)) {
    return problem;
  }
  request.sampling.seed = static_cast<uint64_t>(number);
  return std::nullopt;
}

constexpr size_t kStopsMax = 16;

Problem read_stop(const json::value& value, Request& request) {
  const auto take = [&](const json::value& one) -> Problem {
    if (!one.is_string() || one.get_string().empty()) {
      return bad_value("stop", "stop must be a string that is not empty, or an array of such");
    }
    request.stop.emplace_back(one.get_string());
    return std::nullopt;
  };
  const json::array* several = value.if_array();
  if (several == nullptr) return take(value);
  if (several->size() > kStopsMax) {
    return bad_value("stop", fmt::format("stop has {} texts; at most {} are accepted",
                                         several->size(), kStopsMax));
  }
  for (const json::value& one : *several) {
    if (Problem problem = take(one)) return problem;
  }
  return std::nullopt;
}

Problem read_ignore_eos(const json::value& value, Request& request) {
  if (!value.is_bool()) {
    return bad_value("ignore_eos",
                     fmt::format("ignore_eos must be true or false, not {}", kind_name(value)));
  }
  request.ignore_eos = value.get_bool();
  return std::nullopt;
}

// Fields that are refused unless they ask for what happens anyway.

bool is_one(const json::value& value) {
  return value.is_number() && value.to_number<double>() == 1;
}

Problem read_n(const json::value& value, Request&) {
  if (is_one(value)) return std::nullopt;
  return unsupported("n", "n must be 1; for several answers give several rows");
}

Problem read_stream(const json::value& value, Request&) {
  if (value.is_bool() && !value.get_bool()) return std::nullopt;
  return unsupported("stream", "stream must be false: a batch has no stream");
}

Problem read_response_format(const json::value& value, Request&) {
  const json::object* object = value.if_object();
  const json::value* type = object != nullptr ? object->if_contains("type") : nullptr;
  if (type != nullptr && type->is_string() && type->get_string() == "text") return std::nullopt;
  return unsupported("response_format",
                     "response_format must be {\"type\": \"text\"}: structured output is not "
                     "supported by this version, and a format that is not enforced is refused");
}

Problem read_zero_penalty(const json::value& value, std::string_view param) {
  double number = 0;
  if (Problem problem = read_number(value, param, -2, 2, number)) return problem;
  if (number == 0) return std::nullopt;
  return unsupported(param, fmt::format("{} must be 0 in this version", param));
}

Problem read_presence_penalty(const json::value& value, Request&) {
  return read_zero_penalty(value, "presence_penalty");
}

Problem read_frequency_penalty(const json::value& value, Request&) {
  return read_zero_penalty(value, "frequency_penalty");
}

Problem read_repetition_penalty(const json::value& value, Request&) {
  double number = 0;
  if (Problem problem = read_number(value, "repetition_penalty", 0, 10, number)) return problem;
  if (number == 1) return std::nullopt;
  return unsupported("repetition_penalty", "repetition_penalty must be 1 in this version");
}

Problem read_logit_bias(const json::value& value, Request&) {
  const json::object* object = value.if_object();
  if (object != nullptr && object->empty()) return std::nullopt;
  return unsupported("logit_bias", "logit_bias must be empty in this version");
}

Problem read_logprobs(const json::value& value, Request&) {
  if (value.is_bool() && !value.get_bool()) return std::nullopt;
  return unsupported("logprobs", "logprobs must be false in this version");
}

Problem read_echo(const json::value& value, Request&) {
  if (value.is_bool() && !value.get_bool()) return std::nullopt;
  return unsupported("echo", "echo must be false in this version");
}

Problem read_best_of(const json::value& value, Request&) {
  if (is_one(value)) return std::nullopt;
  return unsupported("best_of", "best_of must be 1");
}

Problem read_tools(const json::value& value, Request&) {
  const json::array* tools = value.if_array();
  if (tools != nullptr && tools->empty()) return std::nullopt;
  return unsupported("tools", "tools must be empty: tool calls are not supported by this version");
}

Problem read_tool_choice(const json::value& value, Request&) {
  if (value.is_string() && value.get_string() == "none") return std::nullopt;
  return unsupported("tool_choice",
                     "tool_choice must be \"none\": tool calls are not supported by this version");
}

Problem ignore(const json::value&, Request&) {
  return std::nullopt;
}

constexpr bool kYes = true;
constexpr bool kNo = false;

// One row per field: name, use, chat, completions, accepted values, reader.
constexpr std::array kFields = std::to_array<Field>({
    {{"model", FieldUse::kHonoured, kYes, kYes, "a string"}, read_model},
    {{"messages", FieldUse::kHonoured, kYes, kNo,
      "an array of {role, content}; content is a string or text parts"},
     read_messages},
    {{"prompt", FieldUse::kHonoured, kNo, kYes, "one string"}, read_prompt},
    {{"max_tokens", FieldUse::kHonoured, kYes, kYes, "1 and more"}, read_max_tokens},
    {{"max_completion_tokens", FieldUse::kHonoured, kYes, kNo, "1 and more"},
     read_max_completion_tokens},
    {{"temperature", FieldUse::kHonoured, kYes, kYes, "0 to 2; 0 is greedy"}, read_temperature},
    {{"top_p", FieldUse::kHonoured, kYes, kYes, "above 0, to 1"}, read_top_p},
    {{"top_k", FieldUse::kHonoured, kYes, kYes, "1 and more; 0 or -1 for all"}, read_top_k},
    {{"min_p", FieldUse::kHonoured, kYes, kYes, "0 to 1"}, read_min_p},
    {{"seed", FieldUse::kHonoured, kYes, kYes, "a whole number"}, read_seed},
    {{"stop", FieldUse::kHonoured, kYes, kYes, "a string, or an array of at most 16"}, read_stop},
    {{"ignore_eos", FieldUse::kHonoured, kYes, kYes, "true or false"}, read_ignore_eos},

    {{"user", FieldUse::kWithoutEffect, kYes, kYes, "anything"}, ignore},
    {{"metadata", FieldUse::kWithoutEffect, kYes, kNo, "anything"}, ignore},
    {{"store", FieldUse::kWithoutEffect, kYes, kNo, "anything"}, ignore},
    {{"service_tier", FieldUse::kWithoutEffect, kYes, kNo, "anything"}, ignore},
    {{"safety_identifier", FieldUse::kWithoutEffect, kYes, kNo, "anything"}, ignore},
    {{"prompt_cache_key", FieldUse::kWithoutEffect, kYes, kNo, "anything"}, ignore},
    {{"parallel_tool_calls", FieldUse::kWithoutEffect, kYes, kNo, "anything, as tools are refused"},
     ignore},

    {{"n", FieldUse::kRefused, kYes, kYes, "1"}, read_n},
    {{"best_of", FieldUse::kRefused, kNo, kYes, "1"}, read_best_of},
    {{"stream", FieldUse::kRefused, kYes, kYes, "false"}, read_stream},
    {{"response_format", FieldUse::kRefused, kYes, kNo, "{\"type\": \"text\"}"},
     read_response_format},
    {{"tools", FieldUse::kRefused, kYes, kNo, "an empty array"}, read_tools},
    {{"tool_choice", FieldUse::kRefused, kYes, kNo, "\"none\""}, read_tool_choice},
    {{"presence_penalty", FieldUse::kRefused, kYes, kYes, "0"}, read_presence_penalty},
    {{"frequency_penalty", FieldUse::kRefused, kYes, kYes, "0"}, read_frequency_penalty},
    {{"repetition_penalty", FieldUse::kRefused, kYes, kYes, "1"}, read_repetition_penalty},
    {{"logit_bias", FieldUse::kRefused, kYes, kYes, "an empty object"}, read_logit_bias},
    {{"logprobs", FieldUse::kRefused, kYes, kYes, "false"}, read_logprobs},
    {{"echo", FieldUse::kRefused, kNo, kYes, "false"}, read_echo},
});

constexpr auto kRules = [] {
  std::array<FieldRule, kFields.size()> rules{};
  for (size_t i = 0; i < rules.size(); ++i)
    rules[i] = kFields[i].rule;
  return rules;
}();

const Field* find_field(Endpoint endpoint, std::string_view name) {
  for (const Field& field : kFields) {
    const bool belongs =
        endpoint == Endpoint::kChatCompletions ? field.rule.chat : field.rule.completion;
    if (belongs && field.rule.name == name) return &field;
  }
  return nullptr;
}

Failure unknown_field(Endpoint endpoint, std::string_view name) {
  const Endpoint other =
      endpoint == Endpoint::kChatCompletions ? Endpoint::kCompletions : Endpoint::kChatCompletions;
  if (find_field(other, name) != nullptr) {
    return unsupported(
        name, fmt::format("{} belongs to {}, not to {}", name, url_of(other), url_of(endpoint)));
  }
  return unsupported(
      name, fmt::format("{} is not a field that {} supports; take it out", name, url_of(endpoint)));
}

Problem missing(Endpoint endpoint, const json::object& body) {
  const std::string_view name = endpoint == Endpoint::kChatCompletions ? "messages" : "prompt";
  const json::value* value = body.if_contains(name);
  if (value != nullptr && !value->is_null()) return std::nullopt;
  return Failure{
      .failure_class = FailureClass::kRequest,
      .status = 400,
      .code = "missing_required_parameter",
      .message = fmt::format("the body has no {}, which {} needs", name, url_of(endpoint)),
      .param = std::string(name)};
}

}  // namespace

std::optional<Endpoint> endpoint_of(std::string_view url) {
  if (url == "/v1/chat/completions") return Endpoint::kChatCompletions;
  if (url == "/v1/completions") return Endpoint::kCompletions;
  return std::nullopt;
}

std::string_view url_of(Endpoint endpoint) {
  return endpoint == Endpoint::kChatCompletions ? "/v1/chat/completions" : "/v1/completions";
}

std::span<const FieldRule> field_rules() {
  return kRules;
}

std::variant<Request, Failure> parse_request(Endpoint endpoint, const json::object& body,
                                             uint64_t seed_default) {
  Request request{.endpoint = endpoint};
  request.sampling.seed = seed_default;
  if (Problem problem = missing(endpoint, body)) return *std::move(problem);
  for (const auto& [name, value] : body) {
    if (value.is_null()) continue;
    const Field* field = find_field(endpoint, name);
    if (field == nullptr) return unknown_field(endpoint, name);
    if (Problem problem = field->read(value, request)) return *std::move(problem);
  }
  return request;
}

}  // namespace windrow::llm
