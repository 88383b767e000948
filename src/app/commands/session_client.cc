#include "app/commands/session_client.h"

#include <fmt/format.h>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <future>
#include <optional>
#include <utility>
#include <variant>

#include "base/utf8.h"
#include "json/parse.h"
#include "json/values.h"

namespace windrow::app {
namespace {

namespace json = boost::json;

constexpr Duration kConnectTime = std::chrono::seconds(10);

// A server that makes the samples of a long session may be silent for a while.
constexpr Duration kSilenceMax = std::chrono::minutes(10);

// A page that is shown; samples and records are downloaded.
constexpr size_t kPageBytesMax = size_t{1} << 30;

// Of what a server says about an error.
constexpr size_t kErrorBytesMax = 600;

Error error_of(const http::ClientFailure& failure) {
  std::string text = failure.message;
  if (failure.kind == http::FailureKind::kConnect || failure.kind == http::FailureKind::kResolve)
    text += "; --url names another server";
  return {ErrorKind::kUnavailable, std::move(text)};
}

Error error_of(int32_t status, std::string_view body, const http::Url& server) {
  constexpr int32_t kServerFault = 500;
  const std::string said = error_text_in(body);
  std::string text = fmt::format("{}: {}", http::origin(server),
                                 said.empty() ? fmt::format("status {}", status) : said);
  if (status == 401 || status == 403) {
    text += "; --api-key-env NAME names the variable that holds the key";
  } else if (status == 404 && said.empty()) {
    text += "; is it a Windrow server, and does it have this? --url names another one";
  }
  return {status >= kServerFault ? ErrorKind::kUnavailable : ErrorKind::kInvalid, std::move(text)};
}

}  // namespace

std::string error_text_in(std::string_view body) {
  const auto parsed = parse_json(body);
  std::string text;
  if (const auto* value = std::get_if<json::value>(&parsed)) {
    const json::value* error = member_in(value, "error");
    const json::value* message = member_in(error, "message");
    if (message == nullptr) message = error;
    if (message != nullptr && message->is_string()) text = message->get_string();
  } else {
    text = body;
  }
  if (const size_t end = text.find_last_not_of(" \r\n\t"); end != std::string::npos)
    text.resize(end + 1);
  // A page for a browser says nothing here.
  if (text.starts_with('<')) return "";
  if (text.size() <= kErrorBytesMax) return text;
  text.resize(kErrorBytesMax);
  text.resize(text.size() - utf8_incomplete_tail(text));
  return text + "...";
}

SessionClient::SessionClient(http::Client& client, http::Url server, std::string api_key)
    : client_(client), server_(std::move(server)), api_key_(std::move(api_key)) {}

http::ClientRequest SessionClient::request_for(const SessionQuestion& question) const {
  http::ClientRequest request;
  request.method = question.method;
  request.url = http::below(server_, question.target);
  if (!api_key_.empty()) request.headers.set("Authorization", fmt::format("Bearer {}", api_key_));
  if (!question.body.empty()) {
    request.headers.set("Content-Type", "application/json");
    request.body = std::make_shared<const std::string>(question.body);
  }
  request.limits.connect = kConnectTime;
  request.limits.idle = kSilenceMax;
  request.limits.reply_bytes_max = kPageBytesMax;
  return request;
}

Result<std::string> SessionClient::send(http::ClientRequest request,
                                        const std::stop_token& stop) const {
  auto result = std::make_shared<std::promise<http::ClientResult>>();
  std::future<http::ClientResult> waiting = result->get_future();
  const http::CallId call = client_.send(
      std::move(request), [result](http::ClientResult one) { result->set_value(std::move(one)); });
  const std::stop_callback cancel(stop, [this, call] { client_.cancel(call); });
  http::ClientResult ended = waiting.get();
  if (const auto* failure = std::get_if<http::ClientFailure>(&ended)) return error_of(*failure);
  auto& reply = std::get<http::ClientReply>(ended);
  if (reply.head.status < 200 || reply.head.status >= 300)
    return error_of(reply.head.status, reply.body, server_);
  return std::move(reply.body);
}

Result<std::string> SessionClient::ask(const SessionQuestion& question,
                                       const std::stop_token& stop) const {
  return send(request_for(question), stop);
}

Result<void> SessionClient::download(const SessionQuestion& question, Take take,
                                     const std::stop_token& stop) const {
  constexpr size_t kNoBound = SIZE_MAX;
  std::optional<Error> fault;  // set before the call has ended
  http::ClientRequest request = request_for(question);
  request.limits.taken_bytes_max = kNoBound;
  request.on_data = [&fault, &take](const http::ReplyHead&, std::string_view piece) {
    const Result<void> taken = take(piece);
    if (!taken) fault = taken.error();
    return taken.has_value();
  };
  const Result<std::string> sent = send(std::move(request), stop);
  if (fault) return *fault;
  if (!sent) return sent.error();
  return {};
}

}  // namespace windrow::app
