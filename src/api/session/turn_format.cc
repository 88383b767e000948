#include "api/session/turn_format.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <cstdint>
#include <utility>
#include <vector>

#include "api/calls/call_reader.h"
#include "api/session/session_request.h"
#include "api/wire/call_reply.h"
#include "api/wire/error_reply.h"
#include "api/wire/messages_reply.h"
#include "api/wire/stream_text.h"
#include "json/limits.h"
#include "json/members.h"
#include "json/writer.h"
#include "llm/raw_body.h"

namespace windrow::api {

namespace json = boost::json;

namespace {

constexpr std::string_view kEvents = "text/event-stream; charset=utf-8";

llm::Failure no_completion(std::string_view what) {
  return {.failure_class = llm::FailureClass::kTransient,
          .status = 502,
          .code = "invalid_reply",
          .message = fmt::format("the model's server sent {}; it must be a chat completion with "
                                 "choices[0].message",
                                 what)};
}

std::string without_prefix(std::string_view id) {
  const std::string_view prefix = id_prefix(llm::Endpoint::kChatCompletions, Dialect::kOwn);
  if (id.starts_with(prefix)) id.remove_prefix(prefix.size());
  return std::string(id);
}

http::ServerReply reply_of_events(std::string events) {
  return {.content_type = kEvents,
          .headers = {{"Cache-Control", "no-cache"}, {"X-Accel-Buffering", "no"}},
          .body = std::move(events)};
}

// The text of a member, or what stands for it where it is absent.
std::string_view member_or(const std::vector<JsonMember>& members, std::string_view name,
                           std::string_view otherwise) {
  const std::string_view text = json_member(members, name);
  return text.empty() ? otherwise : text;
}

// An object with its member "index" set, in its place if it has one.
std::string with_index(std::string_view call, size_t index) {
  return llm::with_member(call, "index", fmt::format("{}", index));
}

std::string delta_of_message(std::string_view message) {
  const std::vector<JsonMember> members = json_members(message);
  std::string delta =
      fmt::format(R"({{"role":{},"content":{})", member_or(members, "role", R"("assistant")"),
                  member_or(members, "content", "null"));
  const std::string_view reasoning = member_or(members, "reasoning_content", "null");
  if (reasoning != "null") append_format(delta, R"(,"reasoning_content":{})", reasoning);
  std::string calls;
  size_t index = 0;
  const std::string_view all_calls = member_or(members, "tool_calls", "[]");
  // SGLang writes null where there are none.
  for (const std::string_view call : json_elements(all_calls == "null" ? "[]" : all_calls)) {
    append_format(calls, "{}{}", calls.empty() ? "" : ",", with_index(call, index));
    ++index;
  }
  if (!calls.empty()) append_format(delta, R"(,"tool_calls":[{}])", calls);
  return delta + '}';
}

// The chat completion of a result as an answer with its parts.
llm::Outcome answer_of(const session::TurnResult& result) {
  std::optional<llm::Answer> answer = llm::read_raw_answer(result.body);
  if (!answer || answer->choices.empty()) return no_completion("what is none");
  answer->usage = result.usage;
  return *std::move(answer);
}

}  // namespace

http::Headers event_headers(std::string_view content_type) {
  return {
      {"Content-Type", content_type}, {"Cache-Control", "no-cache"}, {"X-Accel-Buffering", "no"}};
}

// Texts of members are copied as they are, so that numbers and escapes stay as they were written.
std::variant<std::string, llm::Failure> as_two_events(std::string_view body) {
  const std::vector<JsonMember> members = json_members(body);
  const std::vector<std::string_view> choices = json_elements(json_member(members, "choices"));
  if (choices.empty()) return no_completion("no choices");
  const std::vector<JsonMember> choice = json_members(choices.front());
  const std::string_view message = json_member(choice, "message");
  if (message.empty() || message == "null") return no_completion("a choice without a message");
  std::string events =
      fmt::format(R"(data: {{"id":{},"object":"chat.completion.chunk","created":{},"model":{},)"
                  R"("choices":[{{"index":0,"delta":{},"finish_reason":{}}}])",
                  member_or(members, "id", "null"), member_or(members, "created", "null"),
                  member_or(members, "model", "null"), delta_of_message(message),
                  member_or(choice, "finish_reason", "null"));
  const std::string_view usage = member_or(members, "usage", "null");
  if (usage != "null") append_format(events, R"(,"usage":{})", usage);
  return events + "}\n\ndata: [DONE]\n\n";
}

// --- chat completions ---------------------------------------------------------------------------

std::unique_ptr<AnswerStream> ChatTurnFormat::stream(const session::StreamBegin& begin) const {
  return std::make_unique<StreamText>(StreamShape{.id = without_prefix(begin.id),
                                                  .model = begin.model,
                                                  .created_unix_s = begin.created_unix_s,
                                                  .usage = begin.with_usage,
                                                  .logprobs = true});
}

http::ServerReply ChatTurnFormat::reply(session::TurnResult result) const {
  if (!result.wants_stream) return {.body = std::move(result.body)};
  auto events = as_two_events(result.body);
  if (const auto* failure = std::get_if<llm::Failure>(&events)) return error(*failure);
  return reply_of_events(std::get<std::string>(std::move(events)));
}

http::ServerReply ChatTurnFormat::error(const llm::Failure& failure) const {
  return session_error(failure);
}

http::ServerReply ChatTurnFormat::passed(session::PassedReply reply) const {
  return passed_reply(std::move(reply));
}

// --- Anthropic's Messages -----------------------------------------------------------------------

std::variant<std::string, llm::Failure> MessagesTurnFormat::translate(std::string body) {
  auto parsed = parse_body(body);
  if (auto* failure = std::get_if<llm::Failure>(&parsed)) return std::move(*failure);
  auto translated = windrow::api::translate(Dialect::kMessages, std::get<json::object>(parsed));
  if (auto* failure = std::get_if<llm::Failure>(&translated)) return std::move(*failure);
  auto& translation = std::get<Translation>(translated);
  origins_ = std::move(translation.origins);
  add_wishes(translation.wishes, translation.chat);
  return json::serialize(translation.chat);
}

std::unique_ptr<AnswerStream> MessagesTurnFormat::stream(const session::StreamBegin& begin) const {
  return std::make_unique<MessagesStream>(ReplyFacts{.dialect = Dialect::kMessages,
                                                     .id = without_prefix(begin.id),
                                                     .model = begin.model,
                                                     .created_unix_s = begin.created_unix_s,
                                                     .request_id = request_id_});
}

http::ServerReply MessagesTurnFormat::reply(session::TurnResult result) const {
  const llm::Outcome outcome = answer_of(result);
  if (const auto* failure = std::get_if<llm::Failure>(&outcome)) return error(*failure);
  const auto& answer = std::get<llm::Answer>(outcome);
  boost::system::error_code ignored;
  const json::value told = json::parse(result.body, ignored, {}, {.max_depth = kJsonDepthMax});
  const auto text = [&](std::string_view name) {
    const json::value* member = told.is_object() ? told.get_object().if_contains(name) : nullptr;
    return member != nullptr && member->is_string() ? std::string(member->get_string()) : "";
  };
  const ReplyFacts facts{.dialect = Dialect::kMessages,
                         .id = without_prefix(text("id")),
                         .model = text("model"),
                         .request_id = request_id_};
  if (!result.wants_stream) return {.body = reply_body(facts, answer)};
  std::string events;
  MessagesStream(facts).end(answer, events);
  return reply_of_events(std::move(events));
}

http::ServerReply MessagesTurnFormat::error(const llm::Failure& failure) const {
  return error_reply(origins_.to_client(failure), Dialect::kMessages, request_id_);
}

// The words of the model's server in the shape that clients of this API read.
http::ServerReply MessagesTurnFormat::passed(session::PassedReply reply) const {
  boost::system::error_code unreadable;
  const json::value body = json::parse(reply.body, unreadable, {}, {.max_depth = kJsonDepthMax});
  std::string message = reply.body;
  if (body.is_object()) {
    const json::value* error = body.get_object().if_contains("error");
    if (error != nullptr && error->is_object()) error = error->get_object().if_contains("message");
    if (error == nullptr) error = body.get_object().if_contains("message");
    if (error != nullptr && error->is_string()) message = error->get_string();
  }
  return error(llm::Failure{.failure_class = llm::FailureClass::kRequest,
                            .status = reply.status,
                            .code = "upstream_error",
                            .message = std::move(message)});
}

}  // namespace windrow::api
