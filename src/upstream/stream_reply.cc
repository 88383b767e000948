#include "upstream/stream_reply.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <charconv>
#include <utility>
#include <variant>

#include "json/values.h"
#include "upstream/reply_json.h"

namespace windrow::upstream {

namespace json = boost::json;

namespace {

// Far above the longest event, one with the log-probabilities of a whole answer.
constexpr size_t kEventBytesMax = size_t{32} << 20;

// Whether an event is an error. Some servers write "error": null beside an answer.
bool tells_error(const SseEvent& event, const json::object& body) {
  const json::value* error = body.if_contains("error");
  if (error != nullptr && !error->is_null()) return true;
  const json::value* object = body.if_contains("object");
  return event.name == "error" || (object != nullptr && *object == "error");
}

// The status that the error would have as a reply; in streams it is the code.
int32_t status_of(const ServerError& error) {
  constexpr int32_t kServerError = 500;
  int32_t status = 0;
  const char* const end = error.code.data() + error.code.size();
  const bool number = std::from_chars(error.code.data(), end, status).ptr == end;
  return number && status >= 400 && status <= 599 ? status : kServerError;
}

bool is_cancelled(const http::ClientFailure& failure) {
  return failure.kind == http::FailureKind::kCancelled;
}

}  // namespace

StreamReply::StreamReply(Asked asked, WantedStructure wanted, int64_t choices)
    : asked_(std::move(asked)),
      wanted_(std::move(wanted)),
      choices_(choices),
      reader_(kEventBytesMax) {}

std::optional<llm::Outcome> StreamReply::add(const http::ReplyHead& head, std::string_view bytes,
                                             std::vector<std::string>& events) {
  if (kind_ == Kind::kEvents) return read(bytes, events);
  body_ += bytes;
  if (kind_ == Kind::kUnknown) find_kind(head);
  if (kind_ != Kind::kEvents) return std::nullopt;
  return read(std::exchange(body_, {}), events);
}

// By the content type, or by the first letters: some servers stream as text/plain, and JSON begins
// otherwise.
void StreamReply::find_kind(const http::ReplyHead& head) {
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  if (head.headers.get("content-type").value_or("").starts_with("text/event-stream")) {
    kind_ = Kind::kEvents;
    return;
  }
  std::string_view text = body_;
  if (text.starts_with(kMark)) text.remove_prefix(kMark.size());
  text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
  constexpr std::string_view kField = "data:";
  if (text.starts_with(kField) || text.starts_with(':') || text.starts_with("event:")) {
    kind_ = Kind::kEvents;
  } else if (text.size() > kField.size()) {
    kind_ = Kind::kWhole;
  }
}

std::optional<llm::Outcome> StreamReply::read(std::string_view bytes,
                                              std::vector<std::string>& events) {
  std::vector<SseEvent> complete;
  const Result<void> added = reader_.add(bytes, complete);
  std::optional<llm::Outcome> outcome = take(std::move(complete), events);
  if (!outcome && !added) return broken(added.error().message);
  return outcome;
}

std::optional<llm::Outcome> StreamReply::take(std::vector<SseEvent> events,
                                              std::vector<std::string>& out) {
  for (SseEvent& event : events) {
    if (std::optional<llm::Outcome> outcome = take(std::move(event), out)) return outcome;
  }
  return std::nullopt;
}

std::optional<llm::Outcome> StreamReply::take(SseEvent event, std::vector<std::string>& out) {
  if (event.data == "[DONE]") return answer();
  const ReplyJson parsed(event.data);
  const json::object* body = parsed.value() == nullptr ? nullptr : parsed.value()->if_object();
  if (body == nullptr) {
    return broken(fmt::format("an event is no JSON object: {}", in_quotes(event.data)));
  }
  if (tells_error(event, *body)) return failure_in(event, *parsed.value());
  note(*body);
  ++passed_on_;
  out.push_back(one_line(event.data));
  return std::nullopt;
}

// Remembers what is needed at the end.
void StreamReply::note(const json::object& event) {
  const json::value* usage = event.if_contains("usage");
  if (usage != nullptr && usage->is_object()) usage_ = usage_of(event);
  const json::value* choices = event.if_contains("choices");
  if (choices == nullptr || !choices->is_array()) return;
  for (const json::value& choice : choices->get_array()) {
    const json::value* index = member_in(&choice, "index");
    Choice& said = arrived_[index != nullptr && index->is_int64() ? index->get_int64() : 0];
    const json::value* reason = member_in(&choice, "finish_reason");
    if (reason != nullptr && reason->is_string()) said.finish_reason = reason->get_string();
    if (wanted_.form == llm::Structure::kText) continue;
    const json::value* text = member_in(&choice, "text");
    if (text == nullptr) text = member_in(member_in(&choice, "delta"), "content");
    if (text != nullptr && text->is_string()) said.text += text->get_string();
  }
}

bool StreamReply::is_whole() const {
  return std::ssize(arrived_) >= choices_ && std::ranges::none_of(arrived_, [](const auto& one) {
           return one.second.finish_reason.empty();
         });
}

llm::Outcome StreamReply::answer() const {
  if (arrived_.empty()) return broken("it ended without an answer");
  llm::Answer answer;
  answer.usage = usage_;
  if (wanted_.form == llm::Structure::kText) return answer;
  for (const auto& [index, said] : arrived_) {
    // An answer without text is a refusal or calls tools.
    if (said.text.empty()) continue;
    std::optional<std::string> fault = structure_fault(wanted_, said.text);
    if (!fault) continue;
    if (said.finish_reason == "length") {
      answer.truncated = true;
    } else if (said.finish_reason == "stop") {
      return llm::Failure{.failure_class = llm::FailureClass::kRequest,
                          .status = 502,
                          .code = "invalid_structured_output",
                          .message = fmt::format("{}: {}", asked_.server, *fault),
                          .param = std::string(wanted_.field),
                          .usage = usage_};
    }
  }
  return answer;
}

llm::Failure StreamReply::failure_in(const SseEvent& event, const json::value& body) const {
  ServerError error = error_in(&body);
  if (passed_on_ == 0) {
    http::ClientReply reply;
    reply.head.status = status_of(error);
    reply.body = event.data;
    return std::get<llm::Failure>(read_reply(asked_, std::move(reply), 0));
  }
  llm::Failure failure = broken(error.message.empty() ? in_quotes(event.data) : error.message);
  int32_t number = 0;
  const bool is_number =
      std::from_chars(error.code.data(), error.code.data() + error.code.size(), number).ec ==
      std::errc();
  if (!error.code.empty() && !is_number) failure.code = std::move(error.code);
  failure.param = std::move(error.param);
  failure.raw = one_line(event.data);
  return failure;
}

// Before anything was passed on, the request may be sent again.
llm::Failure StreamReply::broken(std::string_view why) const {
  llm::Failure failure{.failure_class = passed_on_ == 0 ? llm::FailureClass::kTransient
                                                        : llm::FailureClass::kRequest,
                       .status = 502,
                       .code = "stream_broken",
                       .message = fmt::format("the stream of {} broke off: {}", asked_.server, why),
                       .param = {},
                       .usage = usage_};
  failure.replied = passed_on_ == 0;
  return failure;
}

llm::Outcome StreamReply::end(http::ClientResult result, int64_t now_unix_s,
                              std::vector<std::string>& events) {
  if (const auto* failure = std::get_if<http::ClientFailure>(&result)) {
    if (passed_on_ > 0 && !is_cancelled(*failure)) {
      // The server is named once.
      std::string_view why = failure->message;
      const std::string name = fmt::format("{}: ", asked_.server);
      if (why.starts_with(name)) why.remove_prefix(name.size());
      return broken(why);
    }
    return read_reply(asked_, result, now_unix_s);
  }
  auto& reply = std::get<http::ClientReply>(result);
  if (kind_ != Kind::kEvents) {
    if (!body_.empty()) reply.body = std::move(body_);
    return read_reply(asked_, result, now_unix_s);
  }
  std::vector<SseEvent> last;
  reader_.finish(last);
  if (std::optional<llm::Outcome> outcome = take(std::move(last), events)) return *outcome;
  // Some servers forget [DONE]; when every choice has a finish reason, nothing is missing.
  if (is_whole()) return answer();
  return broken("it ended before the answer did");
}

}  // namespace windrow::upstream
