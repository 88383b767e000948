#include "llm/raw_answer.h"

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <limits>
#include <string>
#include <utility>

#include "json/depth.h"

namespace windrow::llm {

namespace json = boost::json;

namespace {

std::optional<json::value> parse(std::string_view text) {
  boost::system::error_code error;
  json::value value = json::parse(text, error, {}, {.max_depth = kJsonDepthMax});
  if (error) return std::nullopt;
  return value;
}

const json::value* member(const json::value* value, std::string_view name) {
  const json::object* object = value == nullptr ? nullptr : value->if_object();
  const json::value* found = object == nullptr ? nullptr : object->if_contains(name);
  return found == nullptr || found->is_null() ? nullptr : found;
}

std::string text_of(const json::value* value) {
  const json::string* text = value == nullptr ? nullptr : value->if_string();
  return text == nullptr ? std::string() : std::string(*text);
}

int32_t whole(const json::value* value) {
  if (value == nullptr || !value->is_number()) return 0;
  boost::system::error_code error;
  const auto number = value->to_number<int64_t>(error);
  const bool fits = !error && number >= 0 && number <= std::numeric_limits<int32_t>::max();
  return fits ? static_cast<int32_t>(number) : 0;
}

// A string, or parts: texts, and thoughts, which may be parts again.
void read_answer_content(const json::value* value, std::string& text, std::string& reasoning) {
  if (value == nullptr) return;
  text += text_of(value);
  const json::array* parts = value->if_array();
  if (parts == nullptr) return;
  for (const json::value& part : *parts) {
    text += text_of(member(&part, "text"));
    const json::value* thoughts = member(&part, "thinking");
    read_answer_content(thoughts, reasoning, reasoning);
  }
}

TokenLogprob read_token(const json::value& value) {
  TokenLogprob token;
  if (const json::value* bytes = member(&value, "bytes"); bytes != nullptr && bytes->is_array()) {
    for (const json::value& byte : bytes->get_array())
      token.bytes += static_cast<char>(whole(&byte));
  } else {
    token.bytes = text_of(member(&value, "token"));
  }
  const json::value* logprob = member(&value, "logprob");
  boost::system::error_code error;
  if (logprob != nullptr && logprob->is_number())
    token.logprob = static_cast<float>(logprob->to_number<double>(error));
  return token;
}

std::vector<ScoredToken> read_answer_tokens(const json::value* logprobs) {
  std::vector<ScoredToken> tokens;
  const json::value* content = member(logprobs, "content");
  if (content == nullptr || !content->is_array()) return tokens;
  for (const json::value& one : content->get_array()) {
    ScoredToken token{.chosen = read_token(one)};
    if (const json::value* top = member(&one, "top_logprobs"); top != nullptr && top->is_array()) {
      for (const json::value& likely : top->get_array())
        token.top.push_back(read_token(likely));
    }
    tokens.push_back(std::move(token));
  }
  return tokens;
}

std::vector<ToolCallPiece> read_calls(const json::value* calls) {
  std::vector<ToolCallPiece> pieces;
  if (calls == nullptr || !calls->is_array()) return pieces;
  for (const json::value& call : calls->get_array()) {
    ToolCallPiece piece{.index = static_cast<int32_t>(pieces.size())};
    if (const json::value* index = member(&call, "index")) piece.index = whole(index);
    piece.id = text_of(member(&call, "id"));
    const json::value* function = member(&call, "function");
    piece.name = text_of(member(function, "name"));
    const json::value* arguments = member(function, "arguments");
    // Some give the object itself.
    if (arguments != nullptr && !arguments->is_string()) {
      piece.arguments = json::serialize(*arguments);
    } else {
      piece.arguments = text_of(arguments);
    }
    pieces.push_back(std::move(piece));
  }
  return pieces;
}

std::optional<FinishReason> read_reason(const json::value* value) {
  if (value == nullptr || !value->is_string()) return std::nullopt;
  const std::string reason = text_of(value);
  if (reason == "length") return FinishReason::kLength;
  if (reason == "tool_calls" || reason == "function_call") return FinishReason::kToolCalls;
  if (reason == "content_filter") return FinishReason::kFiltered;
  return FinishReason::kStop;
}

// A message or a delta. `said` is read as far as it is there.
Delta read_said(const json::value& choice, const json::value* said) {
  Delta piece{.choice = whole(member(&choice, "index"))};
  const json::value* thoughts = member(said, "reasoning_content");
  if (thoughts == nullptr) thoughts = member(said, "reasoning");
  piece.reasoning = text_of(thoughts);
  read_answer_content(member(said, "content"), piece.text, piece.reasoning);
  if (said == nullptr) piece.text = text_of(member(&choice, "text"));  // of a completion
  piece.refusal = text_of(member(said, "refusal"));
  piece.tool_calls = read_calls(member(said, "tool_calls"));
  piece.tokens = read_answer_tokens(member(&choice, "logprobs"));
  piece.finish_reason = read_reason(member(&choice, "finish_reason"));
  // vLLM's name: a text, or the number of a token.
  const json::value* stop = member(&choice, "stop_reason");
  if (stop != nullptr && stop->is_string()) piece.stopped_by = text_of(stop);
  return piece;
}

const json::array* choices_of(const json::value& body) {
  const json::value* choices = member(&body, "choices");
  return choices == nullptr ? nullptr : choices->if_array();
}

Choice to_choice(Delta piece) {
  Choice choice{.text = std::move(piece.text)};
  if (!piece.reasoning.empty()) choice.reasoning = std::move(piece.reasoning);
  if (!piece.refusal.empty()) choice.refusal = std::move(piece.refusal);
  for (ToolCallPiece& call : piece.tool_calls) {
    choice.tool_calls.push_back({.id = std::move(call.id),
                                 .name = std::move(call.name),
                                 .arguments = std::move(call.arguments)});
  }
  choice.finish_reason = piece.finish_reason.value_or(FinishReason::kStop);
  if (choice.finish_reason == FinishReason::kStop && !choice.tool_calls.empty())
    choice.finish_reason = FinishReason::kToolCalls;
  choice.stopped_by = std::move(piece.stopped_by);
  choice.tokens = std::move(piece.tokens);
  return choice;
}

}  // namespace

std::optional<Answer> read_raw_answer(std::string_view raw) {
  const std::optional<json::value> body = parse(raw);
  const json::array* choices = body ? choices_of(*body) : nullptr;
  if (choices == nullptr) return std::nullopt;
  Answer answer;
  for (const json::value& choice : *choices)
    answer.choices.push_back(to_choice(read_said(choice, member(&choice, "message"))));
  const json::value* usage = member(&*body, "usage");
  if (usage != nullptr && usage->is_object()) answer.usage = read_usage(usage->get_object());
  return answer;
}

std::optional<Answer> read_raw_embeddings(std::string_view raw) {
  const std::optional<json::value> body = parse(raw);
  const json::value* data = body ? member(&*body, "data") : nullptr;
  if (data == nullptr || !data->is_array()) return std::nullopt;
  const json::array& list = data->get_array();
  Answer answer;
  answer.embeddings.resize(list.size());
  for (size_t i = 0; i < list.size(); ++i) {
    const json::value* given = member(&list[i], "index");
    const size_t index = given == nullptr ? i : static_cast<size_t>(whole(given));
    const json::value* numbers = member(&list[i], "embedding");
    if (index >= list.size() || numbers == nullptr || !numbers->is_array()) return std::nullopt;
    for (const json::value& number : numbers->get_array()) {
      if (!number.is_number()) return std::nullopt;
      answer.embeddings[index].push_back(static_cast<float>(number.to_number<double>()));
    }
  }
  const json::value* usage = member(&*body, "usage");
  if (usage != nullptr && usage->is_object()) answer.usage = read_usage(usage->get_object());
  return answer;
}

std::vector<Delta> read_raw_event(std::string_view raw) {
  std::vector<Delta> pieces;
  const std::optional<json::value> event = parse(raw);
  const json::array* choices = event ? choices_of(*event) : nullptr;
  if (choices == nullptr) return pieces;
  for (const json::value& choice : *choices)
    pieces.push_back(read_said(choice, member(&choice, "delta")));
  return pieces;
}

Usage read_usage(const json::object& usage) {
  const auto count = [&](std::string_view name) { return whole(usage.if_contains(name)); };
  return {
      .prompt_tokens = count("prompt_tokens"),
      .completion_tokens = count("completion_tokens"),
      .cached_tokens = whole(member(usage.if_contains("prompt_tokens_details"), "cached_tokens")),
      .reasoning_tokens =
          whole(member(usage.if_contains("completion_tokens_details"), "reasoning_tokens"))};
}

}  // namespace windrow::llm
