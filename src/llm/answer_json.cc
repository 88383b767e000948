#include "llm/answer_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/text_encoding.h"
#include "base/utf8.h"
#include "json/writer.h"
#include "llm/logprobs_json.h"

namespace windrow::llm {

namespace json = boost::json;

namespace {

void append_tool_calls(std::string& text, const std::vector<ToolCall>& calls) {
  append_json_array(text, calls, [&](const ToolCall& call) {
    text += R"({"id":)";
    append_json(call.id, text);
    text += R"(,"type":"function","function":{"name":)";
    append_json(call.name, text);
    text += R"(,"arguments":)";
    append_json(call.arguments, text);
    text += "}}";
  });
}

void append_message(std::string& text, const Choice& choice) {
  text += R"({"role":"assistant","content":)";
  if (choice.text.empty() && !choice.tool_calls.empty()) {
    text += "null";
  } else {
    append_json(choice.text, text);
  }
  if (choice.reasoning) {
    text += R"(,"reasoning_content":)";
    append_json(*choice.reasoning, text);
  }
  if (!choice.tool_calls.empty()) {
    text += R"(,"tool_calls":)";
    append_tool_calls(text, choice.tool_calls);
  }
  text += R"(,"refusal":null})";
}

void append_choices(std::string& text, bool chat, const std::vector<Choice>& choices) {
  int32_t index = 0;
  append_json_array(text, choices, [&](const Choice& choice) {
    append_format(text, R"({{"index":{},)", index++);
    text += chat ? R"("message":)" : R"("text":)";
    if (chat) {
      append_message(text, choice);
    } else {
      append_json(choice.text, text);
    }
    text += R"(,"logprobs":)";
    if (choice.tokens.empty()) {
      text += "null";
    } else if (chat) {
      append_chat_logprobs(choice.tokens, text);
    } else {
      append_completion_logprobs(choice.tokens, text_offsets(choice), text);
    }
    append_format(text, R"(,"finish_reason":"{}")", to_string(choice.finish_reason));
    if (choice.structure) append_format(text, R"(,"structure":"{}")", to_string(*choice.structure));
    if (choice.cut_character) text += R"(,"cut_character":true)";
    text += '}';
  });
}

std::string completion_to_json(bool chat, std::string_view id, std::string_view model,
                               int64_t created_unix_s, const Answer& answer) {
  std::string text = R"({"id":)";
  append_json(fmt::format("{}-{}", chat ? "chatcmpl" : "cmpl", id), text);
  append_format(text, R"(,"object":"{}","created":{},"model":)",
                chat ? "chat.completion" : "text_completion", created_unix_s);
  append_json(model, text);
  text += R"(,"choices":)";
  append_choices(text, chat, answer.choices);
  append_structure_warnings(answer.structure_warnings, text);
  text += R"(,"usage":)";
  append_usage(answer.usage, text);
  text += '}';
  return text;
}

// The four bytes of each number, the lowest first.
void append_base64_floats(std::string& text, const std::vector<float>& numbers) {
  std::string bytes;
  bytes.reserve(numbers.size() * sizeof(float));
  for (const float number : numbers) {
    const auto bits = std::bit_cast<uint32_t>(number);
    for (uint32_t shift = 0; shift < 32; shift += 8)
      bytes += static_cast<char>(bits >> shift & 0xFFU);
  }
  text += '"';
  append_base64(bytes, text);
  text += '"';
}

std::string embeddings_to_json(std::string_view model, const Answer& answer) {
  std::string text = R"({"object":"list","data":)";
  int32_t index = 0;
  append_json_array(text, answer.embeddings, [&](const std::vector<float>& embedding) {
    append_format(text, R"({{"object":"embedding","index":{},"embedding":)", index++);
    if (answer.base64) {
      append_base64_floats(text, embedding);
    } else {
      append_json_array(text, embedding, [&](float number) { append_json(number, text); });
    }
    text += '}';
  });
  text += R"(,"model":)";
  append_json(model, text);
  append_format(text, R"(,"usage":{{"prompt_tokens":{0},"total_tokens":{0}}}}})",
                answer.usage.prompt_tokens);
  return text;
}

std::string ranking_to_json(std::string_view id, std::string_view model, const Answer& answer) {
  std::string text = R"({"id":)";
  append_json(fmt::format("rerank-{}", id), text);
  text += R"(,"model":)";
  append_json(model, text);
  text += R"(,"results":)";
  append_json_array(text, answer.ranking, [&](const RankedDocument& document) {
    append_format(text, R"({{"index":{},"relevance_score":)", document.index);
    append_json(document.score, text);
    if (document.text) {
      text += R"(,"document":{"text":)";
      append_json(*document.text, text);
      text += '}';
    }
    text += '}';
  });
  append_format(text, R"(,"usage":{{"total_tokens":{}}}}})", answer.usage.prompt_tokens);
  return text;
}

std::string_view error_type(const Failure& failure) {
  switch (failure.status) {
    case 401:
      return "authentication_error";
    case 403:
      return "permission_error";
    case 404:
      return "not_found_error";
    case 429:
      return "rate_limit_error";
    default:
      break;
  }
  if (failure.status >= 500) return "server_error";
  return "invalid_request_error";
}

}  // namespace

void append_structure_warnings(const std::vector<std::string>& warnings, std::string& text) {
  if (warnings.empty()) return;
  text += R"(,"structure_warnings":)";
  append_json_array(text, warnings,
                    [&](const std::string& warning) { append_json(warning, text); });
}

void append_usage(const Usage& usage, std::string& text) {
  append_format(text,
                R"({{"prompt_tokens":{},"completion_tokens":{},"total_tokens":{},)"
                R"("prompt_tokens_details":{{"cached_tokens":{}}},)"
                R"("completion_tokens_details":{{"reasoning_tokens":{}}}}})",
                usage.prompt_tokens, usage.completion_tokens,
                usage.prompt_tokens + usage.completion_tokens, usage.cached_tokens,
                usage.reasoning_tokens);
}

std::string answer_to_json(Endpoint endpoint, std::string_view id, std::string_view model,
                           int64_t created_unix_s, const Answer& answer) {
  if (!answer.raw.empty()) return answer.raw;
  if (const std::optional<Answer> whole = as_whole(answer))
    return answer_to_json(endpoint, id, model, created_unix_s, *whole);
  switch (endpoint) {
    case Endpoint::kEmbeddings:
      return embeddings_to_json(model, answer);
    case Endpoint::kRerank:
      return ranking_to_json(id, model, answer);
    case Endpoint::kChatCompletions:
    case Endpoint::kCompletions:
      break;
  }
  const bool chat = endpoint == Endpoint::kChatCompletions;
  return completion_to_json(chat, id, model, created_unix_s, answer);
}

json::object failure_to_json(const Failure& failure) {
  json::object error{{"message", failure.message}, {"type", error_type(failure)}};
  error["param"] = failure.param.empty() ? json::value(nullptr) : json::value(failure.param);
  error["code"] = failure.code.empty() ? json::value(nullptr) : json::value(failure.code);
  return {{"error", error}};
}

}  // namespace windrow::llm
