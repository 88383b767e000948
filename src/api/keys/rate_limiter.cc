#include "api/keys/rate_limiter.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/ensure.h"

namespace windrow::api {
namespace {

constexpr double kMinuteNs = 60e9;

// Tolerance for rounding errors of sums.
constexpr double kRounding = 1e-6;

Duration duration_of(double ns) {
  constexpr double kLongest = 9e18;
  return Duration(static_cast<int64_t>(std::ceil(std::min(ns, kLongest))));
}

int64_t whole(double amount) {
  return static_cast<int64_t>(std::floor(std::max(amount, 0.0) + kRounding));
}

llm::Failure too_many(std::string message, Duration wait) {
  return {.failure_class = llm::FailureClass::kTransient,
          .status = 429,
          .code = "rate_limit_exceeded",
          .message = std::move(message),
          .overloaded = true,
          .retry_after_ms = std::max<int64_t>(1, milliseconds(wait + Duration(999'999)))};
}

// With `digits` decimals unless the number is whole: "8.64".
std::string shortest(double value) {
  std::string text = fmt::format("{:.3f}", value);
  while (text.back() == '0')
    text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text;
}

void add_limit(http::Headers& headers, std::string_view what, double limit, double left,
               Duration reset) {
  headers.set(fmt::format("x-ratelimit-limit-{}", what),
              fmt::format("{}", static_cast<int64_t>(limit)));
  headers.set(fmt::format("x-ratelimit-remaining-{}", what), fmt::format("{}", whole(left)));
  headers.set(fmt::format("x-ratelimit-reset-{}", what), reset_text(reset));
}

}  // namespace

RateLimiter::Bucket RateLimiter::Bucket::at_time(TimePoint now) const {
  Bucket then = *this;
  if (now <= at) return then;
  const double passed_ns = static_cast<double>((now - at).count());
  then.left = std::min(per_minute, left + per_minute * (passed_ns / kMinuteNs));
  then.at = now;
  return then;
}

void RateLimiter::Bucket::set_limit(double limit, TimePoint now) {
  if (limit == per_minute) return;
  *this = at_time(now);
  left = per_minute == 0 ? limit : std::min(limit, left + limit - per_minute);
  per_minute = limit;
}

Duration RateLimiter::Bucket::until(double amount) const {
  if (left + kRounding >= amount) return {};
  return duration_of((amount - left) / per_minute * kMinuteNs);
}

RateLimiter::RateLimiter(const KeyLimits& limits, TimePoint now) : limits_(limits) {
  requests_.at = now;
  tokens_.at = now;
  set_limits(limits, now);
}

void RateLimiter::set_limits(const KeyLimits& limits, TimePoint now) {
  limits_ = limits;
  requests_.set_limit(static_cast<double>(limits.requests_per_minute), now);
  tokens_.set_limit(static_cast<double>(limits.tokens_per_minute), now);
}

std::optional<llm::Failure> RateLimiter::enter(TimePoint now) {
  if (limits_.in_flight_max > 0 && in_flight_ >= limits_.in_flight_max) {
    return too_many(
        fmt::format("{} requests of this key are in flight, as many as may be; wait for one to end",
                    in_flight_),
        std::chrono::seconds(1));
  }
  if (limits_.requests_per_minute > 0) {
    requests_ = requests_.at_time(now);
    if (const Duration wait = requests_.until(1); wait > Duration{}) {
      return too_many(fmt::format("rate limit reached: {} requests per minute for this key; try "
                                  "again in {}",
                                  limits_.requests_per_minute, reset_text(wait)),
                      wait);
    }
    requests_.left -= 1;
  }
  ++in_flight_;
  return std::nullopt;
}

std::optional<llm::Failure> RateLimiter::take_tokens(TimePoint now, int64_t expected) {
  if (limits_.tokens_per_minute == 0) return std::nullopt;
  tokens_ = tokens_.at_time(now);
  const auto amount = static_cast<double>(std::max<int64_t>(expected, 0));
  const Duration wait = tokens_.until(std::min(amount, tokens_.per_minute));
  if (wait > Duration{}) {
    return too_many(
        fmt::format("rate limit reached: {} tokens per minute for this key, {} left, about {} "
                    "needed; try again in {}",
                    limits_.tokens_per_minute, whole(tokens_.left), expected, reset_text(wait)),
        wait);
  }
  tokens_.left -= amount;
  return std::nullopt;
}

Duration RateLimiter::take_spare_tokens(TimePoint now, int64_t expected) {
  if (limits_.tokens_per_minute == 0) return {};
  tokens_ = tokens_.at_time(now);
  const auto amount = static_cast<double>(std::max<int64_t>(expected, 0));
  const double half = tokens_.per_minute / 2;
  const Duration wait = tokens_.until(half + std::min(amount, half));
  if (wait == Duration{}) tokens_.left -= amount;
  return wait;
}

void RateLimiter::settle_tokens(TimePoint now, int64_t expected, int64_t used) {
  if (limits_.tokens_per_minute == 0) return;
  tokens_ = tokens_.at_time(now);
  const auto back =
      static_cast<double>(std::max<int64_t>(expected, 0) - std::max<int64_t>(used, 0));
  tokens_.left = std::min(tokens_.per_minute, tokens_.left + back);
}

void RateLimiter::forget_request(TimePoint now) {
  if (limits_.requests_per_minute == 0) return;
  requests_ = requests_.at_time(now);
  requests_.left = std::min(requests_.per_minute, requests_.left + 1);
}

void RateLimiter::leave() {
  ENSURE(in_flight_ > 0, "more requests leave than came");
  --in_flight_;
}

void RateLimiter::add_headers(TimePoint now, http::Headers& headers) const {
  const auto add = [&](std::string_view what, const Bucket& bucket) {
    if (bucket.per_minute == 0) return;
    const Bucket then = bucket.at_time(now);
    add_limit(headers, what, then.per_minute, then.left, then.until(then.per_minute));
  };
  add("requests", requests_);
  add("tokens", tokens_);
}

std::string reset_text(Duration duration) {
  constexpr int64_t kNsPerMs = 1'000'000;
  const int64_t ms = (std::max<int64_t>(duration.count(), 0) + kNsPerMs - 1) / kNsPerMs;
  if (ms == 0) return "0s";
  if (ms < 1000) return fmt::format("{}ms", ms);
  const int64_t minutes = ms / 60'000;
  const std::string rest = shortest(static_cast<double>(ms % 60'000) / 1000) + "s";
  if (minutes == 0) return rest;
  if (minutes < 60) return fmt::format("{}m{}", minutes, rest);
  return fmt::format("{}h{}m{}", minutes / 60, minutes % 60, rest);
}

}  // namespace windrow::api
