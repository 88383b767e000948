#include "api/wire/error_reply.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include "api/wire/messages_reply.h"
#include "api/wire/ollama_reply.h"
#include "json/limits.h"
#include "llm/answer_json.h"

namespace windrow::api {

namespace json = boost::json;

namespace {

constexpr int64_t kRetryAfterMaxS = 3600;
constexpr int kOverloaded = 529;

bool is_fault(int status) {
  return status >= 400 && status <= 599;
}

bool has_this_shape(const std::string& body) {
  boost::system::error_code error;
  const json::value value = json::parse(body, error, {}, {.max_depth = kJsonDepthMax});
  if (error || !value.is_object()) return false;
  const json::value* inner = value.get_object().if_contains("error");
  return inner != nullptr && inner->is_object() && inner->get_object().contains("message");
}

}  // namespace

std::string_view code_of(int status) {
  switch (status) {
    case 404:
      return "not_found";
    case 405:
      return "method_not_allowed";
    case 408:
      return "request_timeout";
    case 413:
      return "request_too_large";
    case 415:
      return "unsupported_encoding";
    case 417:
      return "expectation_failed";
    case 431:
      return "headers_too_large";
    case 501:
      return "not_implemented";
    case 503:
      return "unavailable";
    default:
      return status >= 500 ? "internal_error" : "bad_request";
  }
}

namespace {

int own_status_of(const llm::Failure& failure) {
  switch (failure.failure_class) {
    case llm::FailureClass::kRequest:
      return is_fault(failure.status) ? failure.status : 400;
    case llm::FailureClass::kTransient:
      if (failure.status == 429) return 429;
      if (failure.overloaded) return 503;
      if (failure.status == 503 || failure.status == 504) return failure.status;
      return failure.status == 408 ? 504 : 502;
    case llm::FailureClass::kCancelled:
      return 503;
    case llm::FailureClass::kBackend:
      break;
  }
  return failure.status >= 500 && is_fault(failure.status) ? failure.status : 500;
}

}  // namespace

int status_of(const llm::Failure& failure, Dialect dialect) {
  const int status = own_status_of(failure);
  if (dialect != Dialect::kMessages) return status;
  const bool crowded = status == 503 || (status == 429 && failure.code == "server_overloaded");
  return crowded ? kOverloaded : status;
}

std::string error_body(const llm::Failure& failure, Dialect dialect, std::string_view request_id) {
  if (dialect == Dialect::kMessages)
    return message_error(status_of(failure, dialect), failure, request_id);
  if (is_ollama(dialect)) return ollama_error(failure);
  if (!failure.raw.empty() && has_this_shape(failure.raw)) return failure.raw;
  llm::Failure shown = failure;
  shown.status = status_of(failure);  // determines the error's type
  return json::serialize(llm::failure_to_json(shown));
}

http::ServerReply error_reply(const llm::Failure& failure, Dialect dialect,
                              std::string_view request_id) {
  http::ServerReply reply{.status = status_of(failure, dialect),
                          .body = error_body(failure, dialect, request_id)};
  const bool again = reply.status == 429 || reply.status == kOverloaded ||
                     (reply.status >= 502 && reply.status <= 504);
  if (again || failure.retry_after_ms) {
    const int64_t seconds = (failure.retry_after_ms.value_or(1000) + 999) / 1000;
    reply.headers.add("Retry-After",
                      fmt::format("{}", std::clamp<int64_t>(seconds, 1, kRetryAfterMaxS)));
  }
  // Clients retry a 408 by themselves, with the same deadline.
  if (failure.code == "deadline_exceeded") reply.headers.add("x-should-retry", "false");
  return reply;
}

http::ServerReply error_reply(int status, std::string_view message, Dialect dialect,
                              std::string_view request_id) {
  return error_reply(llm::Failure{.failure_class = llm::FailureClass::kRequest,
                                  .status = status,
                                  .code = std::string(code_of(status)),
                                  .message = std::string(message)},
                     dialect, request_id);
}

}  // namespace windrow::api
