#include "session/service/chat_body.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <string>
#include <utility>

#include "json/parse.h"
#include "json/values.h"
#include "llm/request_json.h"

namespace windrow::session {

namespace json = boost::json;

namespace {

llm::Failure refused_field(std::string message, std::string param) {
  return {.code = "invalid_value", .message = std::move(message), .param = std::move(param)};
}

struct OwnField {
  std::string_view name;
  std::string_view why;
};

// The reference server's words.
constexpr std::array<OwnField, 3> kOwnFields = {
    {{"input_ids", "TITO token ids are rendered by the session server"},
     {"routed_experts_start_len", "R3 offsets are computed by the session server"},
     {"logprob_start_len", "not supported on the session chat path"}}};

constexpr std::array<std::string_view, 5> kRoles = {"assistant", "developer", "system", "tool",
                                                    "user"};

// As Python's bool(): agents send 0 and "".
bool is_true(const json::value* value) {
  if (value == nullptr) return false;
  switch (value->kind()) {
    case json::kind::null:
      return false;
    case json::kind::bool_:
      return value->get_bool();
    case json::kind::int64:
      return value->get_int64() != 0;
    case json::kind::uint64:
      return value->get_uint64() != 0;
    case json::kind::double_:
      return value->get_double() != 0;
    case json::kind::string:
      return !value->get_string().empty();
    case json::kind::array:
      return !value->get_array().empty();
    case json::kind::object:
      return !value->get_object().empty();
  }
  return false;
}

std::optional<llm::Failure> take_own_fields(json::object& members) {
  for (const OwnField& field : kOwnFields) {
    const json::value* value = members.if_contains(field.name);
    if (value == nullptr) continue;
    if (!value->is_null()) {
      return refused_field(
          fmt::format("{}={} is not accepted: {}", field.name, json::serialize(*value), field.why),
          std::string(field.name));
    }
    members.erase(field.name);
  }
  if (const json::value* n = members.if_contains("n"); n != nullptr) {
    if (!n->is_null() && *n != 1) {
      return refused_field(
          fmt::format("n={} is not accepted: a session keeps one answer of each request; send the "
                      "request again for another one",
                      json::serialize(*n)),
          "n");
    }
    members.erase("n");
  }
  const json::value* arguments = members.if_contains("chat_template_kwargs");
  if (arguments == nullptr || arguments->is_null()) return std::nullopt;
  if (!arguments->is_object())
    return refused_field("chat_template_kwargs must be an object", "chat_template_kwargs");
  if (arguments->get_object().contains("tools")) {
    return refused_field(
        "tools belongs at the top level of the request, not in chat_template_kwargs",
        "chat_template_kwargs");
  }
  return std::nullopt;
}

std::optional<llm::Failure> check_messages(const json::object& members) {
  const json::value* messages = members.if_contains("messages");
  if (messages == nullptr || !messages->is_array() || messages->get_array().empty())
    return refused_field("messages must be a list with at least one message", "messages");
  size_t index = 0;
  for (const json::value& message : messages->get_array()) {
    const std::string at = fmt::format("messages[{}]", index++);
    if (!message.is_object()) {
      return refused_field(
          fmt::format("{} must be an object with a role, not {}", at, kind_name(message)), at);
    }
    const std::string_view role = text_in(message.get_object(), "role");
    if (std::ranges::find(kRoles, role) == kRoles.end()) {
      return refused_field(
          fmt::format("{} has role={}, which no chat template knows; allowed are assistant, "
                      "developer, system, tool and user",
                      at, role.empty() ? "none" : fmt::format("'{}'", role)),
          at + ".role");
    }
  }
  return std::nullopt;
}

// The members that say how the conversation is written. The rest may be anything: other servers
// have fields of their own.
std::variant<llm::Chat, llm::Failure> chat_of(const json::object& members) {
  json::object chat;
  for (const std::string_view name : {"messages", "tools", "tool_choice", "parallel_tool_calls",
                                      "chat_template_kwargs", "reasoning_effort"}) {
    if (const json::value* value = members.if_contains(name)) chat[name] = *value;
  }
  auto read = llm::parse_request(llm::Endpoint::kChatCompletions, chat, 1);
  if (auto* failure = std::get_if<llm::Failure>(&read)) return std::move(*failure);
  return std::move(std::get<llm::Request>(read).chat);
}

template <class T>
void set_default(std::string_view name, const std::optional<T>& value, json::object& members) {
  if (!value) return;
  json::value& member = members[name];
  if (member.is_null()) member = *value;
}

}  // namespace

std::variant<ChatBody, llm::Failure> read_chat_body(std::string_view text,
                                                    const SessionConfig& config) {
  ChatBody body;
  if (!text.empty()) {
    auto parsed = parse_json(text);
    if (const auto* fault = std::get_if<JsonFault>(&parsed)) {
      return refused_field(
          fmt::format("invalid JSON body: {} at byte {}", fault->reason, fault->byte), "");
    }
    auto& value = std::get<json::value>(parsed);
    if (!value.is_object())
      return refused_field(fmt::format("the body must be a JSON object, not {}", kind_name(value)),
                           "");
    body.members = std::move(value.get_object());
  }
  body.stream = is_true(body.members.if_contains("stream"));
  body.stream_usage =
      is_true(member_in(body.members.if_contains("stream_options"), "include_usage"));
  body.members.erase("stream");
  body.members.erase("stream_options");
  if (auto failure = take_own_fields(body.members)) return *std::move(failure);
  if (auto failure = check_messages(body.members)) return *std::move(failure);
  body.asks_logprobs = is_true(body.members.if_contains("logprobs"));
  body.asks_token_ids = is_true(body.members.if_contains("return_token_ids"));
  set_default("temperature", config.temperature, body.members);
  set_default("top_p", config.top_p, body.members);
  set_default("top_k", config.top_k, body.members);

  auto chat = chat_of(body.members);
  if (auto* failure = std::get_if<llm::Failure>(&chat)) return std::move(*failure);
  body.chat = std::get<llm::Chat>(std::move(chat));
  for (const json::value& message : body.members.at("messages").as_array())
    body.keys.push_back(key_of(message.as_object(), config.match));
  return body;
}

}  // namespace windrow::session
