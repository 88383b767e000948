#include "api/wire/stream_text.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <iterator>
#include <utility>

#include "api/wire/error_reply.h"
#include "json/limits.h"
#include "json/members.h"
#include "json/writer.h"
#include "llm/answer_json.h"

namespace windrow::api {

namespace json = boost::json;

namespace {

template <class... Args>
void append_text(std::string& text, fmt::format_string<Args...> format, Args&&... args) {
  fmt::format_to(std::back_inserter(text), format, std::forward<Args>(args)...);
}

std::string chunk_head(const StreamShape& shape) {
  const bool chat = shape.endpoint == llm::Endpoint::kChatCompletions;
  std::string head = R"(data: {"id":)";
  append_json(fmt::format("{}-{}", chat ? "chatcmpl" : "cmpl", shape.id), head);
  append_text(head, R"(,"object":"{}","created":{},"model":)",
              chat ? "chat.completion.chunk" : "text_completion", shape.created_unix_s);
  append_json(shape.model, head);
  if (!shape.service_tier.empty()) {
    head += R"(,"service_tier":)";
    append_json(shape.service_tier, head);
  }
  if (!shape.system_fingerprint.empty()) {
    head += R"(,"system_fingerprint":)";
    append_json(shape.system_fingerprint, head);
  }
  head += R"(,"choices":[)";
  return head;
}

// The part of a tool call that was not sent: all of it, with its name, if nothing was.
llm::ToolCallPiece rest_of(const llm::Choice& choice, size_t index,
                           const std::vector<size_t>& emitted) {
  const llm::ToolCall& call = choice.tool_calls[index];
  llm::ToolCallPiece rest{
      .index = static_cast<int32_t>(index), .id = {}, .name = {}, .arguments = call.arguments};
  if (index < emitted.size()) {
    rest.arguments.erase(0, emitted[index]);
  } else {
    rest.id = call.id;
    rest.name = call.name;
  }
  return rest;
}

llm::Failure no_answer_in(const llm::Answer& answer) {
  return {.failure_class = llm::FailureClass::kTransient,
          .status = 502,
          .code = "invalid_reply",
          .message = fmt::format("the server that was asked sent a reply that cannot be told as a "
                                 "stream: it is no JSON object, or is nested more than {} deep; "
                                 "ask without \"stream\" to see it as it came",
                                 kJsonDepthMax),
          .usage = answer.usage};
}

void append_event(std::string_view data, std::string& events) {
  events += "data: ";
  events += data;
  events += "\n\n";
}

// A message as a delta. Clients join the deltas of a call by its index, which a whole message
// lacks.
json::value delta_of(json::value message) {
  json::object* const object = message.if_object();
  if (object == nullptr) return json::object();
  json::value* const calls = object->if_contains("tool_calls");
  if (calls == nullptr || !calls->is_array()) return message;
  int64_t index = 0;
  for (json::value& call : calls->get_array()) {
    if (json::object* const fields = call.if_object()) fields->emplace("index", index);
    ++index;
  }
  return message;
}

}  // namespace

StreamText::StreamText(StreamShape shape) : shape_(std::move(shape)), head_(chunk_head(shape_)) {}

StreamText::Emitted& StreamText::emitted(int32_t choice) {
  const auto at = static_cast<size_t>(choice);
  if (emitted_.size() <= at) emitted_.resize(at + 1);
  return emitted_[at];
}

void StreamText::emit(const llm::Delta& delta, std::string& events) {
  if (!delta.raw.empty()) return emit_raw(delta.raw, events);
  Emitted& emitted = this->emitted(delta.choice);
  if (is_chat() && !std::exchange(emitted.begun, true)) begin_choice(delta, events);
  if (!delta.text.empty() || !delta.reasoning.empty() || !delta.tokens.empty() ||
      !delta.token_ids.empty()) {
    events += head_;
    append_text(events, R"({{"index":{},)", delta.choice);
    append_delta(delta, events);
    events += R"(,"logprobs":)";
    if (shape_.logprobs && !is_chat()) {
      if (!emitted.offsets) emitted.offsets.emplace(delta.text_begin);
      emitted.offsets->add_text(delta.text);
    }
    if (!shape_.logprobs || delta.tokens.empty()) {
      events += "null";
    } else if (is_chat()) {
      llm::append_chat_logprobs(delta.tokens, events);
    } else {
      std::vector<int32_t> offsets;
      offsets.reserve(delta.tokens.size());
      for (const llm::ScoredToken& token : delta.tokens)
        offsets.push_back(emitted.offsets->next(token.chosen.bytes));
      llm::append_completion_logprobs(delta.tokens, offsets, events);
    }
    events += R"(,"finish_reason":null)";
    if (!is_chat()) llm::append_token_ids("prompt_token_ids", delta.prompt_token_ids, events);
    llm::append_token_ids("token_ids", delta.token_ids, events);
    events += '}';
    append_end(events);
    emitted.ids += delta.token_ids.size();
    emitted.text_bytes += delta.text.size();
    emitted.reasoning_bytes += delta.reasoning.size();
    emitted.tokens += delta.tokens.size();
  }
  for (const llm::ToolCallPiece& call : delta.tool_calls)
    emit_call(delta.choice, call, events);
  emitted.cut_character = emitted.cut_character || delta.cut_character;
  if (delta.stopped_by_token) emitted.stopped_by_token = delta.stopped_by_token;
  if (!delta.finish_reason) return;
  if (shape_.structured) {
    emitted.finish_reason = delta.finish_reason;
  } else {
    finish_choice(delta.choice, *delta.finish_reason, std::nullopt, events);
  }
}

void StreamText::end(const llm::Answer& answer, std::string& events) {
  if (!answer.raw.empty() && !raw_emitted_ && !emit_raw_answer(answer.raw, events))
    return fail(no_answer_in(answer), events);
  structure_warnings_ = answer.structure_warnings;
  for (size_t i = 0; i < answer.choices.size(); ++i) {
    const llm::Choice& choice = answer.choices[i];
    const auto index = static_cast<int32_t>(i);
    {
      Emitted& emitted = this->emitted(index);
      llm::Delta rest{.choice = index,
                      .text_begin = choice.text_begin,
                      .cut_character = choice.cut_character,
                      .stopped_by_token = choice.stopped_by_token};
      if (choice.text.size() > emitted.text_bytes)
        rest.text = choice.text.substr(emitted.text_bytes);
      const std::string reasoning = choice.reasoning.value_or("");
      if (reasoning.size() > emitted.reasoning_bytes)
        rest.reasoning = reasoning.substr(emitted.reasoning_bytes);
      for (size_t call = 0; call < choice.tool_calls.size(); ++call)
        rest.tool_calls.push_back(rest_of(choice, call, emitted.arguments_bytes));
      if (shape_.logprobs && choice.tokens.size() > emitted.tokens) {
        rest.tokens.assign(choice.tokens.begin() + static_cast<std::ptrdiff_t>(emitted.tokens),
                           choice.tokens.end());
      }
      if (choice.token_ids.size() > emitted.ids) {
        rest.token_ids.assign(choice.token_ids.begin() + static_cast<std::ptrdiff_t>(emitted.ids),
                              choice.token_ids.end());
      }
      if (emitted.ids == 0 && !answer.prompt_token_ids.empty()) {
        const size_t choices_each = answer.choices.size() / answer.prompt_token_ids.size();
        rest.prompt_token_ids = answer.prompt_token_ids.at(i / choices_each);
      }
      emit(rest, events);
    }
    if (!emitted(index).finished)
      finish_choice(index, choice.finish_reason, choice.structure, events);
  }
  if (shape_.usage && !usage_emitted_) append_usage(answer.usage, events);
  append_event("[DONE]", events);
}

void StreamText::fail(const llm::Failure& failure, std::string& events) {
  append_event(error_body(failure), events);
}

// Drops usage events that the client did not ask for; upstreams are always asked for them.
void StreamText::emit_raw(std::string_view raw, std::string& events) {
  raw_emitted_ = true;
  const std::vector<JsonMember> members = json_members(raw);
  const std::string_view usage = json_member(members, "usage");
  if (!usage.empty() && usage != "null") {
    const bool only_usage = json_without_space(json_member(members, "choices")) == "[]";
    if (only_usage && !shape_.usage) return;
    usage_emitted_ = true;
  }
  append_event(raw, events);
}

// Sends the whole reply of an upstream at once: each message becomes a delta. False if it cannot be
// read; then nothing was sent.
bool StreamText::emit_raw_answer(const std::string& raw, std::string& events) {
  boost::system::error_code error;
  json::value reply = json::parse(raw, error, {}, {.max_depth = kJsonDepthMax});
  if (error || !reply.is_object()) return false;
  json::object& chunk = reply.get_object();
  if (is_chat()) chunk["object"] = "chat.completion.chunk";
  json::value usage = nullptr;
  if (const auto found = chunk.find("usage"); found != chunk.end()) {
    usage = std::move(found->value());
    chunk.erase(found);
  }
  if (json::value* choices = chunk.if_contains("choices"); choices && choices->is_array()) {
    for (json::value& choice : choices->get_array()) {
      if (!choice.is_object() || !is_chat()) continue;
      json::object& object = choice.get_object();
      object["delta"] = delta_of(std::move(object["message"]));
      object.erase("message");
    }
  }
  append_event(json::serialize(chunk), events);
  if (!shape_.usage || usage.is_null()) return true;
  chunk["choices"] = json::array();
  chunk["usage"] = std::move(usage);
  append_event(json::serialize(chunk), events);
  usage_emitted_ = true;
  return true;
}

void StreamText::begin_choice(const llm::Delta& delta, std::string& events) const {
  events += head_;
  append_text(events,
              R"({{"index":{},"delta":{{"role":"assistant","content":"","refusal":null}},)"
              R"("logprobs":null,"finish_reason":null}}])",
              delta.choice);
  llm::append_token_ids("prompt_token_ids", delta.prompt_token_ids, events);
  events += shape_.usage ? ",\"usage\":null}\n\n" : "}\n\n";
}

void StreamText::finish_choice(int32_t choice, llm::FinishReason reason,
                               std::optional<llm::StructureLabel> label, std::string& events) {
  emitted(choice).finished = true;
  events += head_;
  append_text(events, R"({{"index":{},{},"logprobs":null,"finish_reason":"{}")", choice,
              is_chat() ? R"("delta":{})" : R"("text":"")", llm::to_string(reason));
  if (label) append_text(events, R"(,"structure":"{}")", llm::to_string(*label));
  if (emitted(choice).cut_character) events += R"(,"cut_character":true)";
  if (const std::optional<int32_t> token = emitted(choice).stopped_by_token)
    append_text(events, R"(,"stop_reason":{})", *token);
  events += "}]";
  llm::append_structure_warnings(structure_warnings_, events);
  events += shape_.usage ? ",\"usage\":null}\n\n" : "}\n\n";
}

// The first delta of a call has its id and name, the others only more of its arguments.
void StreamText::emit_call(int32_t choice, const llm::ToolCallPiece& call, std::string& events) {
  std::vector<size_t>& emitted = this->emitted(choice).arguments_bytes;
  const auto index = static_cast<size_t>(call.index);
  std::string text;
  if (index >= emitted.size()) {
    emitted.resize(index + 1);
    append_text(text, R"({{"index":{},"id":)", call.index);
    append_json(call.id, text);
    text += R"(,"type":"function","function":{"name":)";
    append_json(call.name, text);
    text += R"(,"arguments":""}})";
    append_call_delta(choice, text, events);
    text.clear();
  }
  if (call.arguments.empty()) return;
  emitted[index] += call.arguments.size();
  append_text(text, R"({{"index":{},"function":{{"arguments":)", call.index);
  append_json(call.arguments, text);
  text += "}}";
  append_call_delta(choice, text, events);
}

void StreamText::append_call_delta(int32_t choice, std::string_view call,
                                   std::string& events) const {
  events += head_;
  append_text(events, R"({{"index":{},"delta":{{"tool_calls":[{}]}},"logprobs":null,)", choice,
              call);
  events += R"("finish_reason":null})";
  append_end(events);
}

void StreamText::append_delta(const llm::Delta& delta, std::string& events) const {
  if (!is_chat()) {
    events += R"("text":)";
    append_json(delta.text, events);
    return;
  }
  events += R"("delta":{)";
  if (!delta.reasoning.empty()) {
    events += R"("reasoning_content":)";
    append_json(delta.reasoning, events);
    if (!delta.text.empty()) events += ',';
  }
  if (!delta.text.empty() || delta.reasoning.empty()) {
    events += R"("content":)";
    append_json(delta.text, events);
  }
  events += '}';
}

void StreamText::append_usage(const llm::Usage& usage, std::string& events) const {
  events += head_;
  events += R"(],"usage":)";
  llm::append_usage(usage, events);
  events += "}\n\n";
}

// The end of a chunk with a choice.
void StreamText::append_end(std::string& events) const {
  events += shape_.usage ? "],\"usage\":null}\n\n" : "]}\n\n";
}

}  // namespace windrow::api
