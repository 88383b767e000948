#include "app/failure_news.h"

#include <fmt/format.h>

#include "base/format.h"

namespace windrow::app {
namespace {

// How often a wave that goes on is spoken of, and after how much silence it is a new one.
constexpr Duration kBetween = std::chrono::seconds(30);

std::string waits(const llm::Failure& failure) {
  if (!failure.retry_after_ms) return "";
  return fmt::format(" (it asks to be left alone for {})",
                     human_duration(std::chrono::milliseconds(*failure.retry_after_ms)));
}

}  // namespace

std::optional<std::string> FailureNews::tell(TimePoint now, const std::string& server,
                                             const llm::Failure& failure) {
  if (failure.failure_class == llm::FailureClass::kCancelled) return std::nullopt;
  const auto [found, fresh] = waves_.try_emplace({server, failure.code});
  Wave& wave = found->second;
  const bool over = !fresh && now - wave.last >= kBetween;
  wave.last = now;
  if (fresh || (over && wave.unsaid == 0)) {
    wave.said = now;
    return failure.message + waits(failure);
  }
  ++wave.unsaid;
  if (now - wave.said < kBetween) return std::nullopt;
  const int64_t more = std::exchange(wave.unsaid, 0);
  wave.said = now;
  return fmt::format("{}: {} more of {} since then, the last: {}{}", server, with_thousands(more),
                     failure.code, failure.message, waits(failure));
}

}  // namespace windrow::app
