#include "upstream/read_reply.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cctype>
#include <chrono>
#include <string_view>
#include <utility>
#include <variant>

#include "json/depth.h"
#include "llm/request_json.h"
#include "upstream/reply_json.h"
#include "upstream/retry_after.h"

namespace windrow::upstream {

namespace json = boost::json;

namespace {

// The member that every answer of an endpoint has, an array.
std::string_view answers_name(llm::Endpoint endpoint) {
  switch (endpoint) {
    case llm::Endpoint::kChatCompletions:
    case llm::Endpoint::kCompletions:
      return "choices";
    case llm::Endpoint::kEmbeddings:
      return "data";
    case llm::Endpoint::kRerank:
      return "results";
  }
  return "";
}

bool has_answers(const json::object& body, llm::Endpoint endpoint) {
  const json::value* answers = body.if_contains(answers_name(endpoint));
  return answers != nullptr && answers->is_array() && !answers->get_array().empty();
}

bool contains(std::string_view text, std::string_view part) {
  return std::search(text.begin(), text.end(), part.begin(), part.end(), [](char a, char b) {
           return std::tolower(static_cast<unsigned char>(a)) == b;
         }) != text.end();
}

// Servers have no common code for it.
bool context_exceeded(const Told& told) {
  constexpr std::array<std::string_view, 7> kContextWords = {
      "context_length_exceeded", "maximum context length", "context size",     "context window",
      "exceeds the available",   "prompt is too long",     "input is too long"};
  return std::any_of(kContextWords.begin(), kContextWords.end(), [&](std::string_view words) {
    return contains(told.code, words) || contains(told.type, words) ||
           contains(told.message, words);
  });
}

bool has_list(const Asked& asked) {
  return asked.models != nullptr && !asked.models->empty();
}

// A 404 is of the model or of the path, and only words tell which.
bool speaks_of_model(const Told& told, const Asked& asked) {
  if (contains(told.code, "model") || contains(told.message, "model")) return true;
  return !asked.model.empty() && told.message.find(asked.model) != std::string::npos;
}

std::string advice(int32_t status, const Asked& asked, const Told& told, bool json_body) {
  switch (status) {
    case 401:
      return "; is the key right? --api-key-env NAME names the variable that holds it";
    case 403:
      return "; this key may not do that";
    case 404:
      if (asked.model.empty() && json_body && told.message.empty())
        return "; rows need a \"model\" that the server has: --set model=NAME";
      if (!json_body || !speaks_of_model(told, asked)) {
        return fmt::format(
            "; is the base URL right? It usually ends with /v1, as in "
            "http://host:8000/v1. Or this server has no {}",
            llm::url_of(asked.endpoint));
      }
      return asked.model.empty() ? "; rows need a \"model\" that the server has: --set model=NAME"
             : has_list(asked)
                 ? fmt::format("; {}, and --model-alias NAME=THEIRS names one of them",
                               *asked.models)
                 : fmt::format("; does it have the model {}?", in_quotes(asked.model));
    case 413:
      return "; the server takes no request of this size";
    case 429:
      return "; its limits are reached: fewer rows at a time (--concurrency) or slower (--rpm, "
             "--tpm) would fit them";
    default:
      return "";
  }
}

bool is_redirect(int32_t status) {
  return status >= 300 && status < 400;
}

llm::FailureClass class_of(int32_t status) {
  if (status == 401 || status == 403 || is_redirect(status)) return llm::FailureClass::kBackend;
  if (status == 408 || status == 409 || status == 425 || status == 429 || status >= 500)
    return llm::FailureClass::kTransient;
  return llm::FailureClass::kRequest;
}

std::string code_of(int32_t status) {
  switch (status) {
    case 401:
      return "invalid_api_key";
    case 403:
      return "permission_denied";
    case 404:
      return "not_found";
    case 408:
      return "request_timeout";
    case 413:
      return "request_too_large";
    case 429:
      return "rate_limit_exceeded";
    case 503:
    case 529:
      return "overloaded";
    default:
      if (is_redirect(status)) return "redirected";
      return status >= 500 ? "upstream_error" : "upstream_refused";
  }
}

llm::Failure refused(const Asked& asked, const http::ClientReply& reply, int64_t now_unix_s) {
  const int32_t status = reply.head.status;
  const ReplyJson parsed(reply.body);
  const json::value* const body = parsed.value();
  Told told = told_by(body);
  llm::Failure failure{.failure_class = class_of(status),
                       .status = status,
                       .code = told.code.empty() || told.code == std::to_string(status)
                                   ? code_of(status)
                                   : told.code,
                       .message = {},
                       .param = told.param,
                       .overloaded = status == 429 || status == 503 || status == 529,
                       .retry_after_ms = {},
                       .replied = true,
                       .raw = body != nullptr && body->is_object() ? one_line(reply.body) : ""};
  if (failure.failure_class == llm::FailureClass::kTransient)
    failure.retry_after_ms = retry_after_ms(reply.head.headers, now_unix_s);
  if (status < 500 && context_exceeded(told)) {
    failure.failure_class = llm::FailureClass::kRequest;
    failure.code = "context_length_exceeded";
  }
  const std::string who = reply.via_proxy ? fmt::format("{} (through a proxy)", asked.server)
                                          : std::string(asked.server);
  if (is_redirect(status)) {
    failure.message = fmt::format(
        "{} answered {} and points to {}; requests are not sent after it, so write the URL of the "
        "server itself",
        who, status, reply.head.headers.get("location").value_or("nothing"));
  } else if (!told.message.empty()) {
    failure.message = fmt::format("{} answered {}: {}", who, status, told.message);
  } else if (reply.body.empty()) {
    failure.message = fmt::format("{} answered {} without a reason", who, status);
  } else {
    failure.message = fmt::format("{} answered {}: {}", who, status, in_quotes(reply.body));
  }
  failure.message += advice(status, asked, told, body != nullptr);
  return failure;
}

llm::Failure no_answer(const Asked& asked, const http::ClientReply& reply, std::string code,
                       std::string_view why) {
  return llm::Failure{.failure_class = llm::FailureClass::kTransient,
                      .status = 502,
                      .code = std::move(code),
                      .message = fmt::format("{} answered {} with {}: {}", asked.server,
                                             reply.head.status, why, in_quotes(reply.body)),
                      .param = {},
                      .overloaded = false,
                      .retry_after_ms = {},
                      .replied = true,
                      .raw = {}};
}

int64_t to_ms(Duration duration) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
}

llm::Outcome answered(const Asked& asked, const http::ClientReply& reply) {
  // Some begin with a byte order mark.
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  std::string_view text = reply.body;
  if (text.starts_with(kMark)) text.remove_prefix(kMark.size());
  const ReplyJson parsed(text);
  const json::value* const body = parsed.value();
  if (parsed.too_deep()) {
    llm::Failure failure =
        no_answer(asked, reply, "invalid_reply",
                  fmt::format("JSON that is nested more than {} deep", kJsonDepthMax));
    // The next one would be as deep, and is paid for, too.
    failure.failure_class = llm::FailureClass::kRequest;
    return failure;
  }
  if (body == nullptr) {
    const auto type = reply.head.headers.get("content-type").value_or("");
    const bool page = type.starts_with("text/html");
    return no_answer(asked, reply, "unparsable_reply",
                     page ? "a web page, so the base URL may be wrong or a proxy in the way"
                          : "what is not one JSON value");
  }
  const json::object* object = body->if_object();
  if (object == nullptr || !has_answers(*object, asked.endpoint)) {
    return no_answer(asked, reply, "invalid_reply",
                     fmt::format("no \"{}\"", answers_name(asked.endpoint)));
  }
  llm::Answer answer;
  answer.raw = one_line(text);
  answer.usage = usage_of(*object);
  answer.timings = {.queue_ms = 0,
                    .prefill_ms = to_ms(reply.first_byte),
                    .decode_ms = to_ms(reply.total - reply.first_byte)};
  return answer;
}

llm::Failure not_reached(const http::ClientFailure& failure) {
  struct Words {
    int32_t status;
    std::string_view code;
  };
  const Words words = [&]() -> Words {
    switch (failure.kind) {
      case http::FailureKind::kResolve:
      case http::FailureKind::kConnect:
        return {502, "upstream_unreachable"};
      case http::FailureKind::kFiles:
        return {503, "too_many_open_files"};
      case http::FailureKind::kTls:
        return {502, "tls_failed"};
      case http::FailureKind::kProxy:
        return {502, "proxy_failed"};
      case http::FailureKind::kTimeout:
        return {504, "upstream_timeout"};
      case http::FailureKind::kReset:
        return {502, "connection_reset"};
      case http::FailureKind::kTooLarge:
        return {502, "reply_too_large"};
      case http::FailureKind::kProtocol:
        return {502, "invalid_reply"};
      case http::FailureKind::kCancelled:
        break;
    }
    return {499, "cancelled"};
  }();
  const bool cancelled = failure.kind == http::FailureKind::kCancelled;
  // A reply of that size would come again.
  const bool final = failure.kind == http::FailureKind::kTooLarge;
  return llm::Failure{.failure_class = cancelled ? llm::FailureClass::kCancelled
                                       : final   ? llm::FailureClass::kRequest
                                                 : llm::FailureClass::kTransient,
                      .status = words.status,
                      .code = std::string(words.code),
                      .message = failure.message,
                      .param = {},
                      .overloaded = failure.kind == http::FailureKind::kTimeout,
                      .retry_after_ms = {},
                      .unreached = !failure.sent && (failure.kind == http::FailureKind::kResolve ||
                                                     failure.kind == http::FailureKind::kConnect),
                      .short_of_files = failure.kind == http::FailureKind::kFiles,
                      .raw = {}};
}

}  // namespace

llm::Outcome read_reply(const Asked& asked, const http::ClientResult& result, int64_t now_unix_s) {
  if (const auto* failure = std::get_if<http::ClientFailure>(&result)) return not_reached(*failure);
  const auto& reply = std::get<http::ClientReply>(result);
  if (reply.head.status < 200 || reply.head.status > 299) return refused(asked, reply, now_unix_s);
  return answered(asked, reply);
}

}  // namespace windrow::upstream
