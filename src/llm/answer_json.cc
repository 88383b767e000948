#include "llm/answer_json.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>

namespace windrow::llm {

namespace json = boost::json;

namespace {

json::object usage_to_json(const Usage& usage) {
  return {{"prompt_tokens", usage.prompt_tokens},
          {"completion_tokens", usage.completion_tokens},
          {"total_tokens", usage.prompt_tokens + usage.completion_tokens}};
}

json::object choice_to_json(Endpoint endpoint, const Choice& answer) {
  json::object choice{{"index", 0}};
  if (endpoint == Endpoint::kChatCompletions) {
    choice["message"] =
        json::object{{"role", "assistant"}, {"content", answer.text}, {"refusal", nullptr}};
  } else {
    choice["text"] = answer.text;
  }
  choice["logprobs"] = nullptr;
  choice["finish_reason"] = to_string(answer.finish_reason);
  return choice;
}

std::string_view error_type(const Failure& failure) {
  if (failure.status == 404) return "not_found_error";
  if (failure.status >= 500) return "server_error";
  return "invalid_request_error";
}

}  // namespace

json::object answer_to_json(Endpoint endpoint, std::string_view id, std::string_view model,
                            int64_t created_unix_s, const Answer& answer) {
  const bool chat = endpoint == Endpoint::kChatCompletions;
  return {{"id", fmt::format("{}-{}", chat ? "chatcmpl" : "cmpl", id)},
          {"object", chat ? "chat.completion" : "text_completion"},
          {"created", created_unix_s},
          {"model", model},
          {"choices", json::array{choice_to_json(endpoint, answer.choices.at(0))}},
          {"usage", usage_to_json(answer.usage)}};
}

json::object failure_to_json(const Failure& failure) {
  json::object error{{"message", failure.message}, {"type", error_type(failure)}};
  error["param"] = failure.param.empty() ? json::value(nullptr) : json::value(failure.param);
  error["code"] = failure.code.empty() ? json::value(nullptr) : json::value(failure.code);
  return {{"error", error}};
}

}  // namespace windrow::llm
