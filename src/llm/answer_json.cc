#include "llm/answer_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <string_view>
#include <vector>

#include "base/text_encoding.h"
#include "base/utf8.h"
#include "json/writer.h"

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

void append_prompt_scores(const Choice& choice, std::string& text) {
  if (choice.prompt_scores.empty()) return;
  text += R"(,"prompt_logprobs":)";
  append_prompt_logprobs(choice.prompt_scores, text);
}

// The prompt of a choice.
std::span<const int32_t> prompt_ids(const Answer& answer, size_t choice) {
  if (answer.prompt_token_ids.empty()) return {};
  const size_t choices_each = answer.choices.size() / answer.prompt_token_ids.size();
  return answer.prompt_token_ids.at(choice / choices_each);
}

void append_choices(std::string& text, bool chat, const Answer& answer) {
  size_t index = 0;
  append_json_array(text, answer.choices, [&](const Choice& choice) {
    append_format(text, R"({{"index":{},)", index);
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
    if (choice.stopped_by_token)
      append_format(text, R"(,"stop_reason":{})", *choice.stopped_by_token);
    if (!chat) {
      append_prompt_scores(choice, text);
      append_token_ids("prompt_token_ids", prompt_ids(answer, index), text);
    }
    append_token_ids("token_ids", choice.token_ids, text);
    text += '}';
    ++index;
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
  append_choices(text, chat, answer);
  if (chat && !answer.choices.empty()) {
    append_prompt_scores(answer.choices.front(), text);
    append_token_ids("prompt_token_ids", prompt_ids(answer, 0), text);
  }
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

void append_token_ids(std::string_view name, std::span<const int32_t> ids, std::string& text) {
  if (ids.empty()) return;
  append_format(text, R"(,"{}":)", name);
  append_json_array(text, ids, [&](int32_t id) { append_format(text, "{}", id); });
}

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

namespace {

// JSON has no infinity; OpenAI says by this number that a token is as good as impossible.
float finite_logprob(float logprob) {
  return std::isfinite(logprob) ? logprob : -9999.0F;
}

// A token that is no text by itself, being a part of a character, is spelt as OpenAI does it: bytes
// that are not printable ASCII as \xNN, with "bytes:" in front in completions and without in chat.
std::string token_text(std::string_view bytes, std::string_view prefix) {
  if (utf8_repair(bytes) == bytes) return std::string(bytes);
  std::string text(prefix);
  for (const char character : bytes) {
    const auto byte = static_cast<unsigned char>(character);
    if (byte >= 0x20 && byte < 0x7F && byte != '\\') {
      text += character;
    } else {
      append_format(text, "\\x{:02x}", byte);
    }
  }
  return text;
}

// {"token", "logprob", "bytes"}, not closed. A control token has the bytes of its name; few tokens
// have none.
void append_token(std::string& text, const TokenLogprob& token) {
  text += R"({"token":)";
  append_json(token_text(token.bytes, ""), text);
  text += R"(,"logprob":)";
  append_json(finite_logprob(token.logprob), text);
  text += R"(,"bytes":)";
  if (token.bytes.empty()) {
    text += "null";
    return;
  }
  append_json_array(text, token.bytes, [&](char byte) {
    append_format(text, "{}", static_cast<unsigned char>(byte));
  });
}

}  // namespace

void append_token_logprobs(std::span<const ScoredToken> tokens, std::string& text) {
  append_json_array(text, tokens, [&](const ScoredToken& token) {
    append_token(text, token.chosen);
    text += R"(,"top_logprobs":)";
    append_json_array(text, token.top, [&](const TokenLogprob& one) {
      append_token(text, one);
      text += '}';
    });
    text += '}';
  });
}

void append_chat_logprobs(std::span<const ScoredToken> tokens, std::string& text) {
  text += R"({"content":)";
  append_token_logprobs(tokens, text);
  text += R"(,"refusal":null})";
}

namespace {

// The most likely tokens and the chosen one. Of tokens that
// are spelt alike the most likely counts, as an object has a name only once.
void append_top_object(std::string& text, const ScoredToken& token) {
  if (!token.has_logprob) {
    text += "null";
    return;
  }
  std::vector<std::string> names;
  text += '{';
  const auto add = [&](const TokenLogprob& one) {
    std::string name = token_text(one.bytes, "bytes:");
    if (std::find(names.begin(), names.end(), name) != names.end()) return;
    if (!names.empty()) text += ',';
    append_json(name, text);
    text += ':';
    append_json(finite_logprob(one.logprob), text);
    names.push_back(std::move(name));
  };
  for (const TokenLogprob& one : token.top)
    add(one);
  add(token.chosen);
  text += '}';
}

}  // namespace

void append_completion_logprobs(std::span<const ScoredToken> tokens,
                                std::span<const int32_t> offsets, std::string& text) {
  text += R"({"tokens":)";
  append_json_array(text, tokens, [&](const ScoredToken& token) {
    append_json(token_text(token.chosen.bytes, "bytes:"), text);
  });
  text += R"(,"token_logprobs":)";
  append_json_array(text, tokens, [&](const ScoredToken& token) {
    if (token.has_logprob) {
      append_json(finite_logprob(token.chosen.logprob), text);
    } else {
      text += "null";
    }
  });
  text += R"(,"top_logprobs":)";
  append_json_array(text, tokens,
                    [&](const ScoredToken& token) { append_top_object(text, token); });
  text += R"(,"text_offset":)";
  append_json_array(text, offsets, [&](int32_t offset) { append_format(text, "{}", offset); });
  text += '}';
}

void append_prompt_logprobs(std::span<const ScoredToken> tokens, std::string& text) {
  const auto append = [&](const TokenLogprob& one, int32_t rank) {
    append_format(text, R"("{}":{{"logprob":)", one.token);
    append_json(finite_logprob(one.logprob), text);
    append_format(text, R"(,"rank":{},"decoded_token":)", rank);
    append_json(token_text(one.bytes, ""), text);
    text += '}';
  };
  append_json_array(text, tokens, [&](const ScoredToken& token) {
    if (!token.has_logprob) {
      text += "null";
      return;
    }
    text += '{';
    append(token.chosen, token.rank);
    int32_t rank = 0;
    for (const TokenLogprob& one : token.top) {
      ++rank;
      if (one.token == token.chosen.token) continue;
      text += ',';
      append(one, rank);
    }
    text += '}';
  });
}

// --- text offsets ---

namespace {

bool is_lead(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U;
}

int32_t count_characters(std::string_view text) {
  int32_t count = 0;
  for (const char byte : text) {
    if (is_lead(byte)) ++count;
  }
  return count;
}

// How much of the text, which is well-formed and so may differ from the bytes, the token is.
size_t length_in_text(std::string_view token, std::string_view rest, bool at_start) {
  if (rest.starts_with(token)) return token.size();
  const std::string repaired = utf8_repair(token);
  if (rest.starts_with(repaired)) return repaired.size();
  // A tokeniser that marks words by the blank before them may put one before the first as well.
  if (at_start && token.starts_with(' ') && rest.starts_with(token.substr(1))) {
    return token.size() - 1;
  }
  return 0;
}

}  // namespace

std::vector<int32_t> text_offsets(const Choice& choice) {
  TextOffsets offsets(choice.text_begin);
  offsets.add_text(choice.text);
  std::vector<int32_t> all;
  all.reserve(choice.tokens.size());
  for (const ScoredToken& token : choice.tokens)
    all.push_back(offsets.next(token.chosen.bytes));
  return all;
}

void TextOffsets::add_text(std::string_view text) {
  text_.erase(0, used_);
  used_ = 0;
  text_ += text;
}

int32_t TextOffsets::next(std::string_view token) {
  const std::string_view rest = std::string_view(text_).substr(used_);
  const bool within_character = !rest.empty() && !is_lead(rest.front());
  const int32_t offset = within_character ? characters_ - 1 : characters_;
  const size_t length = length_in_text(token, rest, at_start_);
  characters_ += count_characters(rest.substr(0, length));
  used_ += length;
  if (length > 0) at_start_ = false;
  return offset;
}

}  // namespace windrow::llm
