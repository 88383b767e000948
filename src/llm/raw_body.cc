#include "llm/raw_body.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "json/limits.h"
#include "json/members.h"
#include "json/values.h"
#include "llm/request_json.h"

namespace windrow::llm {

namespace json = boost::json;

namespace {

const json::value* field(const json::object& members, const json::object& defaults,
                         std::string_view name) {
  const json::value* own = members.if_contains(name);
  if (own != nullptr && !own->is_null()) return own;
  const json::value* fallback = defaults.if_contains(name);
  return fallback != nullptr && !fallback->is_null() ? fallback : nullptr;
}

std::optional<int32_t> whole_request(const json::value* value) {
  if (value == nullptr || !value->is_number()) return std::nullopt;
  boost::system::error_code error;
  const auto number = value->to_number<int64_t>(error);
  if (error || number < 0 || number > std::numeric_limits<int32_t>::max()) return std::nullopt;
  return static_cast<int32_t>(number);
}

size_t inputs_of(const json::value* input) {
  if (input == nullptr) return 0;
  const json::array* array = input->if_array();
  // An array of token numbers is one input.
  if (array == nullptr || array->empty() || array->front().is_number()) return 1;
  return array->size();
}

void set_schema(const json::value* schema, std::string_view field, Request& request) {
  request.structure = Structure::kJson;
  request.structure_field = field;
  if (schema != nullptr && !schema->is_null()) request.structure_schema = json::serialize(*schema);
}

// OpenAI's field, or one of vLLM's, where a schema may also be a text.
void read_structure(const json::object& members, const json::object& defaults, Request& request) {
  constexpr std::string_view kFormat = "response_format";
  const json::value* format = field(members, defaults, kFormat);
  const json::value* type = member_in(format, "type");
  if (type != nullptr && *type == "json_schema")
    return set_schema(member_in(member_in(format, "json_schema"), "schema"), kFormat, request);
  const json::value* guided = field(members, defaults, "guided_json");
  const json::value* newer = member_in(field(members, defaults, "structured_outputs"), "json");
  const json::value* schema = guided != nullptr ? guided : newer;
  if (schema != nullptr && !schema->is_null()) {
    set_schema(schema, guided != nullptr ? "guided_json" : "structured_outputs", request);
    if (schema->is_string()) request.structure_schema = schema->get_string();
  } else if (type != nullptr && *type == "json_object") {
    request.structure = Structure::kJsonObject;
    request.structure_field = kFormat;
  }
}

// Objects of members as JSON text.
class Writer {
 public:
  void add(std::string_view key, std::string_view value) {
    text_ += text_.empty() ? '{' : ',';
    text_ += key;
    text_ += ':';
    text_ += value;
  }

  std::string take() {
    if (text_.empty()) text_ = "{";
    text_ += '}';
    return std::move(text_);
  }

 private:
  std::string text_;
};

std::string in_quotes(std::string_view name) {
  return json::serialize(json::string_view(name.data(), name.size()));
}

bool means_any(std::string_view key, std::initializer_list<std::string_view> names) {
  return std::any_of(names.begin(), names.end(),
                     [&](std::string_view name) { return json_key_is(key, name); });
}

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

Request raw_request(Endpoint endpoint, std::string_view body, const json::object& members,
                    const json::object& defaults) {
  Request request;
  request.endpoint = endpoint;

  const bool streams = members.contains("stream") || members.contains("stream_options");
  const auto wants_default = [&](const json::key_value_pair& one) {
    const json::value* own = members.if_contains(one.key());
    return own == nullptr || own->is_null();
  };
  const bool complete = std::none_of(defaults.begin(), defaults.end(), wants_default);
  if (!streams && complete) {
    request.raw = body;
  } else {
    Writer writer;
    for (const JsonMember& member : json_members(body)) {
      if (means_any(member.key, {"stream", "stream_options"})) continue;
      const bool replaced = member.value == "null" &&
                            std::any_of(defaults.begin(), defaults.end(), [&](const auto& one) {
                              return json_key_is(member.key, one.key());
                            });
      if (!replaced) writer.add(member.key, member.value);
    }
    for (const json::key_value_pair& one : defaults) {
      if (wants_default(one)) writer.add(in_quotes(one.key()), json::serialize(one.value()));
    }
    request.raw = writer.take();
  }

  if (const json::value* model = field(members, defaults, "model"); model && model->is_string())
    request.model = std::string(model->get_string());
  if (const json::value* value = field(members, defaults, "temperature");
      value && value->is_number()) {
    boost::system::error_code error;
    const auto number = value->to_number<double>(error);
    if (!error) request.sampling.temperature = static_cast<float>(number);
  }
  const json::value* completion_tokens = field(members, defaults, "max_completion_tokens");
  request.output_tokens_max = whole_request(
      completion_tokens != nullptr ? completion_tokens : field(members, defaults, "max_tokens"));
  request.choices = std::max(whole_request(field(members, defaults, "n")).value_or(1), 1);
  const char* input = endpoint == Endpoint::kEmbeddings ? "input"
                      : endpoint == Endpoint::kRerank   ? "documents"
                                                        : "prompt";
  request.inputs.resize(inputs_of(field(members, defaults, input)));
  request.repeats = endpoint == Endpoint::kEmbeddings || endpoint == Endpoint::kRerank ||
                    request.sampling.temperature == 0.0F ||
                    field(members, defaults, "seed") != nullptr;
  read_structure(members, defaults, request);
  return request;
}

std::string with_member(std::string_view body, std::string_view name, std::string_view value) {
  Writer writer;
  bool there = false;
  for (const JsonMember& member : json_members(body)) {
    const bool own = json_key_is(member.key, name);
    if (own && there) continue;
    writer.add(member.key, own ? value : member.value);
    there = there || own;
  }
  if (!there) writer.add(in_quotes(name), value);
  return writer.take();
}

std::optional<std::string> repeat_key(const Request& request) {
  if (request.raw.empty() || !request.repeats) return std::nullopt;
  // Their answers depend on more than the body.
  if (request.verbatim || !request.headers.empty()) return std::nullopt;
  return std::string(url_of(request.endpoint)) + json_without_space(request.raw);
}

std::string_view raw_prompt(const Request& request, std::string& buffer) {
  const std::vector<JsonMember> members = json_members(request.raw);
  switch (request.endpoint) {
    case Endpoint::kChatCompletions:
      buffer.reserve(request.raw.size());
      buffer = json_member(members, "tools");
      buffer += json_member(members, "messages");
      return buffer;
    case Endpoint::kCompletions:
      return json_member(members, "prompt");
    case Endpoint::kEmbeddings:
      return json_member(members, "input");
    case Endpoint::kRerank:
      return json_member(members, "documents");
  }
  return {};
}

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
