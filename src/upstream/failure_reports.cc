#include "upstream/failure_reports.h"

#include <fmt/format.h>

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

}  // namespace windrow::upstream
