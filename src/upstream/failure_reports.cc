#include "upstream/failure_reports.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/format.h"

namespace windrow::upstream {
namespace {

// Between two reports of one wave, and without a failure before the next one is a new wave.
constexpr Duration kReportPeriod = std::chrono::seconds(30);

// Calls without an answer before any server has answered one.
constexpr int64_t kAllFailedAfter = 40;

std::string retry_after_text(const llm::Failure& failure) {
  if (!failure.retry_after_ms) return "";
  return fmt::format(" (it asks for a retry after {})",
                     human_duration(std::chrono::milliseconds(*failure.retry_after_ms)));
}

// Failures without a reply: their messages are for the operator.
struct Words {
  std::string_view code;
  std::string_view text;  // follows the name
};
constexpr std::array<Words, 8> kWords = {{
    {.code = "upstream_unreachable", .text = "cannot be reached; try again later"},
    {.code = "too_many_open_files",
     .text = "gets no more requests at this moment, as too many are on their way; try again later"},
    {.code = "tls_failed", .text = "cannot be reached; try again later"},
    {.code = "proxy_failed", .text = "cannot be reached; try again later"},
    {.code = "upstream_timeout", .text = "did not answer in time; try again, or ask for less"},
    {.code = "connection_reset", .text = "broke the connection off; try again"},
    {.code = "reply_too_large", .text = "sent a reply that is too large; ask for less"},
    {.code = "stream_broken", .text = "broke the stream off; try again"},
}};

bool is_redirect_status(const llm::Failure& failure) {
  return failure.replied && failure.status >= 300 && failure.status <= 399;
}

// The key, or what it permits.
bool is_denial(const llm::Failure& failure) {
  return failure.replied && failure.failure_class == llm::FailureClass::kBackend &&
         (failure.status == 401 || failure.status == 403);
}

void replace_all(std::string& text, std::string_view what, std::string_view with) {
  if (what.empty()) return;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size()))
    text.replace(at, what.size(), with);
}

}  // namespace

std::optional<std::string> FailureReports::add(TimePoint now, const std::string& server,
                                               const llm::Failure& failure) {
  if (failure.failure_class == llm::FailureClass::kCancelled) return std::nullopt;
  const auto [found, fresh] = waves_.try_emplace({server, failure.code});
  Wave& wave = found->second;
  const bool over = !fresh && now - wave.last >= kReportPeriod;
  wave.last = now;
  if (fresh || (over && wave.unreported == 0)) {
    wave.reported = now;
    return failure.message + retry_after_text(failure);
  }
  ++wave.unreported;
  if (now - wave.reported < kReportPeriod) return std::nullopt;
  const int64_t more = std::exchange(wave.unreported, 0);
  wave.reported = now;
  return fmt::format("{}: {} more of {} since then, the last: {}{}", server, with_thousands(more),
                     failure.code, failure.message, retry_after_text(failure));
}

bool AllFailedRule::add(const llm::Failure& failure, bool any_answer) {
  const bool counts = failure.failure_class == llm::FailureClass::kTransient &&
                      !failure.overloaded && !failure.unreached && !failure.short_of_files &&
                      !failure.answered;
  if (!counts) return false;
  ++unanswered_;
  if (any_answer || unanswered_ < kAllFailedAfter || error_) return false;
  error_ = Error{ErrorKind::kUnavailable,
                 fmt::format("of {} requests none was answered; the last failure: {}", unanswered_,
                             failure.message)};
  return true;
}

std::string redact_for_client(const llm::Failure& failure, std::string_view origin,
                              std::string_view name) {
  if (is_redirect_status(failure)) return fmt::format("{} redirects to another address", name);
  if (is_denial(failure))
    return fmt::format("{} refuses requests of this server; its operator has to fix that", name);
  const auto* const words = std::ranges::find(kWords, failure.code, &Words::code);
  // A stream that broke off had a reply, too.
  const bool of_ours = !failure.replied || failure.code == "stream_broken";
  if (words != kWords.end() && of_ours && failure.raw.empty())
    return fmt::format("{} {}", name, words->text);
  std::string text = failure.message;
  replace_all(text, origin, name);
  return text;
}

llm::Failure for_clients(llm::Failure failure, std::string_view origin, std::string_view name) {
  failure.message = redact_for_client(failure, origin, name);
  const bool denied = is_denial(failure);
  if (denied || is_redirect_status(failure)) {
    failure.code = denied ? "upstream_denied" : "redirected";
    failure.status = 502;
    failure.param.clear();
    failure.raw.clear();
  }
  replace_all(failure.raw, origin, name);
  return failure;
}

}  // namespace windrow::upstream
