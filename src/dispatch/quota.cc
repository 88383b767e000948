#include "dispatch/quota.h"

#include <algorithm>

#include "dispatch/retry_policy.h"

namespace windrow::dispatch {
namespace {

constexpr Duration kMinute = std::chrono::minutes(1);
constexpr Duration kSlice = std::chrono::milliseconds(100);
constexpr Duration kBurst = std::chrono::seconds(5);

// How long `count` of `per_minute` last.
Duration share_of_minute(int64_t count, int64_t per_minute) {
  return Duration(
      static_cast<Duration::rep>(static_cast<double>(kMinute.count()) * static_cast<double>(count) /
                                 static_cast<double>(per_minute)));
}

}  // namespace

// The earliest time at which the minute before it leaves room.
TimePoint Quota::room_at(TimePoint now, int64_t tokens) const {
  int64_t requests_out = 0;
  int64_t tokens_out = 0;
  for (const Slice& slice : slices_) {
    if (slice.from + kSlice + kMinute <= now) continue;
    requests_out += slice.requests;
    tokens_out += slice.tokens;
  }
  const auto fits = [&] {
    const bool requests_fit =
        options_.requests_per_minute == 0 || requests_out < options_.requests_per_minute;
    const bool tokens_fit = options_.tokens_per_minute == 0 || tokens_out == 0 ||
                            tokens_out + tokens <= options_.tokens_per_minute;
    return requests_fit && tokens_fit;
  };
  TimePoint at = now;
  for (const Slice& slice : slices_) {
    const TimePoint forgotten = slice.from + kSlice + kMinute;
    if (forgotten <= now) continue;
    if (fits()) return at;
    requests_out -= slice.requests;
    tokens_out -= slice.tokens;
    at = forgotten;
  }
  return at;
}

std::optional<TimePoint> Quota::ready_at(TimePoint now, int64_t tokens) const {
  if (probing_) return std::nullopt;
  TimePoint at = std::max({now, cool_until_, room_at(now, tokens)});
  if (options_.requests_per_minute > 0) at = std::max(at, spread_requests_ - kBurst);
  if (options_.tokens_per_minute > 0) at = std::max(at, spread_tokens_ - kBurst);
  return at;
}

Quota::Grant Quota::take(TimePoint now, int64_t tokens) {
  const bool limited = options_.requests_per_minute > 0 || options_.tokens_per_minute > 0;
  if (limited) {
    while (!slices_.empty() && slices_.front().from + kSlice + kMinute <= now)
      slices_.pop_front();
    if (slices_.empty() || slices_.back().from + kSlice <= now) slices_.push_back({.from = now});
    ++slices_.back().requests;
    slices_.back().tokens += tokens;
  }
  if (options_.requests_per_minute > 0) {
    spread_requests_ =
        std::max(spread_requests_, now) + share_of_minute(1, options_.requests_per_minute);
  }
  if (options_.tokens_per_minute > 0) {
    spread_tokens_ =
        std::max(spread_tokens_, now) + share_of_minute(tokens, options_.tokens_per_minute);
  }
  probing_ = half_open_;
  return {.at = now, .tokens = tokens, .probe = half_open_};
}

void Quota::ended(TimePoint now, const Grant& grant, End end, int64_t tokens,
                  std::optional<Duration> retry_after, Random& random) {
  if (grant.probe) probing_ = false;
  // The slice it went out in is the last that began no later.
  auto after = std::upper_bound(slices_.begin(), slices_.end(), grant.at,
                                [](TimePoint at, const Slice& slice) { return at < slice.from; });
  if (after != slices_.begin()) {
    Slice& slice = *std::prev(after);
    slice.tokens = std::max<int64_t>(slice.tokens + tokens - grant.tokens, 0);
  }
  if (options_.tokens_per_minute > 0) {
    spread_tokens_ += share_of_minute(tokens - grant.tokens, options_.tokens_per_minute);
  }
  if (end == End::kAnswered && (grant.probe || grant.at >= cool_until_)) {
    half_open_ = false;
    overloads_ = 0;
  }
  // A time of 0 names none.
  const Duration named = retry_after.value_or(Duration{});
  const bool refused = end == End::kRefused || end == End::kOverloaded;
  if (refused && named > Duration{}) cool_until_ = std::max(cool_until_, now + named);
  const bool overloaded = end == End::kOverloaded || (refused && grant.probe);
  if (!overloaded) return;
  // Requests that were in flight together are refused together; they count as one overload.
  if (!half_open_ || grant.probe) ++overloads_;
  half_open_ = true;
  if (named > Duration{}) return;
  const Duration drawn =
      options_.cooldown_base / 2 +
      full_jitter(options_.cooldown_base, options_.cooldown_max, overloads_, random);
  cool_until_ = std::max(cool_until_, now + drawn);
}

std::optional<TimePoint> Quota::cooling_until(TimePoint now) const {
  if (cool_until_ <= now) return std::nullopt;
  return cool_until_;
}

}  // namespace windrow::dispatch
