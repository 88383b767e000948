#include "upstream/read_reply.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cctype>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "json/limits.h"
#include "llm/request_json.h"
#include "upstream/reply_json.h"

namespace windrow::upstream {
namespace {

constexpr int64_t kWaitMaxMs = 3'600'000;

// Larger than any duration in seconds, smaller than any Unix time of this century.
constexpr double kUnixTimeMin = 1e9;

std::optional<double> number_at(std::string_view& text) {
  double value = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  if (error != std::errc() || !std::isfinite(value) || value < 0) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return value;
}

std::optional<int64_t> bounded_ms(double ms) {
  return static_cast<int64_t>(std::ceil(std::min(ms, static_cast<double>(kWaitMaxMs))));
}

// "6m0s", "250ms", "1h2m3.5s".
std::optional<double> duration_ms(std::string_view text) {
  struct Unit {
    std::string_view name;
    double ms;
  };
  // "ms" before "m".
  constexpr std::array<Unit, 4> kUnits = {
      {{"ms", 1}, {"h", 3'600'000}, {"m", 60'000}, {"s", 1'000}}};
  if (text.empty()) return std::nullopt;
  double total = 0;
  while (!text.empty()) {
    const std::optional<double> number = number_at(text);
    if (!number) return std::nullopt;
    const auto unit = std::find_if(kUnits.begin(), kUnits.end(),
                                   [&](const Unit& one) { return text.starts_with(one.name); });
    if (unit == kUnits.end()) return std::nullopt;
    total += *number * unit->ms;
    text.remove_prefix(unit->name.size());
  }
  return total;
}

// "Sat, 21 Nov 2026 21:40:54 GMT" (RFC 9110, 5.6.7); the two obsolete forms are not read.
std::optional<int64_t> unix_time_of(std::string_view text) {
  const std::string date(text);
  std::tm time{};
  const char* end = ::strptime(date.c_str(), "%a, %d %b %Y %H:%M:%S GMT", &time);
  if (end == nullptr || *end != '\0') return std::nullopt;
  return ::timegm(&time);
}

// Seconds from now, a Unix time, or a duration with units.
std::optional<int64_t> read_ms(std::string_view text, int64_t now_unix_s) {
  std::string_view rest = text;
  if (const std::optional<double> number = number_at(rest); number && rest.empty()) {
    const double seconds =
        *number >= kUnixTimeMin ? *number - static_cast<double>(now_unix_s) : *number;
    return bounded_ms(std::max(seconds, 0.0) * 1000);
  }
  if (const std::optional<double> ms = duration_ms(text)) return bounded_ms(*ms);
  if (const std::optional<int64_t> moment = unix_time_of(text)) {
    return bounded_ms(std::max(static_cast<double>(*moment - now_unix_s), 0.0) * 1000);
  }
  return std::nullopt;
}

}  // namespace

std::optional<int64_t> retry_after_ms(const http::Headers& headers, int64_t now_unix_s) {
  if (const auto text = headers.get("retry-after-ms")) {
    std::string_view rest = *text;
    if (const std::optional<double> ms = number_at(rest); ms && rest.empty()) {
      return bounded_ms(*ms);
    }
  }
  if (const auto text = headers.get("retry-after")) {
    if (const auto ms = read_ms(*text, now_unix_s)) return ms;
  }
  std::optional<int64_t> latest;
  for (const std::string_view what : {"requests", "tokens"}) {
    const auto remaining = headers.get("x-ratelimit-remaining-" + std::string(what));
    const auto reset = headers.get("x-ratelimit-reset-" + std::string(what));
    if (!remaining || *remaining != "0" || !reset) continue;
    if (const auto ms = read_ms(*reset, now_unix_s)) latest = std::max(latest.value_or(0), *ms);
  }
  return latest;
}

namespace json = boost::json;

namespace {

// The array that every answer of an endpoint has.
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

// Servers have no common code for this.
bool context_exceeded(const ServerError& error) {
  constexpr std::array<std::string_view, 7> kContextWords = {
      "context_length_exceeded", "maximum context length", "context size",     "context window",
      "exceeds the available",   "prompt is too long",     "input is too long"};
  return std::any_of(kContextWords.begin(), kContextWords.end(), [&](std::string_view words) {
    return contains(error.code, words) || contains(error.type, words) ||
           contains(error.message, words);
  });
}

bool has_list(const Asked& asked) {
  return asked.models != nullptr && !asked.models->empty();
}

// A 404 means the model or the path, and only its text tells which.
bool speaks_of_model(const ServerError& error, const Asked& asked) {
  if (contains(error.code, "model") || contains(error.message, "model")) return true;
  return !asked.model.empty() && error.message.find(asked.model) != std::string::npos;
}

std::string advice(int32_t status, const Asked& asked, const ServerError& error, bool json_body) {
  switch (status) {
    case 401:
      return "; is the key right? --api-key-env NAME names the variable that holds it";
    case 403:
      return "; this key may not do that";
    case 404:
      if (asked.model.empty() && json_body && error.message.empty())
        return "; rows need a \"model\" that the server has: --set model=NAME";
      if (!json_body || !speaks_of_model(error, asked)) {
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
  ServerError error = error_in(body);
  llm::Failure failure{.failure_class = class_of(status),
                       .status = status,
                       .code = error.code.empty() || error.code == std::to_string(status)
                                   ? code_of(status)
                                   : error.code,
                       .message = {},
                       .param = error.param,
                       .overloaded = status == 429 || status == 503 || status == 529,
                       .retry_after_ms = {},
                       .replied = true,
                       .raw = body != nullptr && body->is_object() ? one_line(reply.body) : ""};
  if (failure.failure_class == llm::FailureClass::kTransient)
    failure.retry_after_ms = retry_after_ms(reply.head.headers, now_unix_s);
  if (status < 500 && context_exceeded(error)) {
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
  } else if (!error.message.empty()) {
    failure.message = fmt::format("{} answered {}: {}", who, status, error.message);
  } else if (reply.body.empty()) {
    failure.message = fmt::format("{} answered {} without a reason", who, status);
  } else {
    failure.message = fmt::format("{} answered {}: {}", who, status, in_quotes(reply.body));
  }
  failure.message += advice(status, asked, error, body != nullptr);
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
  // Some bodies begin with a byte order mark.
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  std::string_view text = reply.body;
  if (text.starts_with(kMark)) text.remove_prefix(kMark.size());
  const ReplyJson parsed(text);
  const json::value* const body = parsed.value();
  if (parsed.too_deep()) {
    llm::Failure failure =
        no_answer(asked, reply, "invalid_reply",
                  fmt::format("JSON that is nested more than {} deep", kJsonDepthMax));
    // The next answer would be as deep, and costs money, too.
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
  // The next reply would be as large.
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
