#include "dispatch/retry_policy.h"

#include <algorithm>
#include <cmath>

namespace windrow::dispatch {
namespace {

// Even a model in this process is not asked again at once when it said that it has too much to do.
constexpr Duration kOverloadBackoffMin = std::chrono::seconds(1);

// A connection becomes free as soon as another call ends.
constexpr Duration kFilesBackoff = std::chrono::milliseconds(100);

// The longest time that a refused row is kept away from all upstreams.
constexpr Duration kRefusedBackoffMax = std::chrono::seconds(4);

}  // namespace

Duration full_jitter(Duration base, Duration max, int32_t number, Random& random) {
  const double whole = static_cast<double>(base.count()) * std::exp2(std::max(number - 1, 0));
  const double bounded = std::min(whole, static_cast<double>(max.count()));
  return Duration(static_cast<Duration::rep>(bounded * random.unit()));
}

namespace {

RetryDecision decide(const RetryOptions& options, Fault fault, std::optional<Duration> retry_after,
                     TimePoint now, Attempts& attempts, Random& random) {
  Duration wait{};
  switch (fault) {
    case Fault::kOverloaded:
    case Fault::kUnreached: {
      ++attempts.refused;
      if (!attempts.refused_since) attempts.refused_since = now;
      const bool people_wait = fault == Fault::kOverloaded && options.refusal_patience;
      const Duration patience = people_wait ? *options.refusal_patience : options.overload_patience;
      if (now - *attempts.refused_since >= patience) return {};
      const Duration base = std::max<Duration>(options.backoff_base, kOverloadBackoffMin);
      TimePoint at = now + full_jitter(base, kRefusedBackoffMax, attempts.refused, random);
      // Otherwise the quota keeps to the server's word; the row may go to another one meanwhile.
      if (people_wait) {
        at = std::max(at, now + retry_after.value_or(Duration{}));
        if (at >= *attempts.refused_since + patience) return {};
      }
      return {.again = true, .at = at};
    }
    case Fault::kShortOfFiles: {
      ++attempts.short_of_files;
      if (!attempts.refused_since) attempts.refused_since = now;
      const Duration patience = options.refusal_patience.value_or(options.overload_patience);
      if (now - *attempts.refused_since >= patience) return {};
      wait = full_jitter(kFilesBackoff, kRefusedBackoffMax, attempts.short_of_files, random);
      break;
    }
    case Fault::kTransient:
      ++attempts.used;
      attempts.refused_since.reset();  // a server accepted it
      if (!options.sends_max && attempts.used >= options.attempts_max) return {};
      wait = full_jitter(options.backoff_base, options.backoff_max, attempts.used, random);
      break;
    case Fault::kRequest:
    case Fault::kCancelled:
    case Fault::kBackend:
      ++attempts.used;
      return {};
  }
  return {.again = true, .at = now + std::max(wait, retry_after.value_or(Duration{}))};
}

}  // namespace

RetryDecision decide_retry(const RetryOptions& options, Fault fault,
                           std::optional<Duration> retry_after, TimePoint now, Attempts& attempts,
                           Random& random) {
  const RetryDecision decision = decide(options, fault, retry_after, now, attempts, random);
  const bool was_sent = fault != Fault::kShortOfFiles;
  if (was_sent && options.sends_max && attempts.used + attempts.refused >= *options.sends_max)
    return {};
  return decision;
}

}  // namespace windrow::dispatch
