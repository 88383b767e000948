#include "sim_upstream/rate_limit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

namespace windrow::sim_upstream {
namespace {

constexpr double kMinuteNs = 60e9;

// "1.5s", "120ms": the form of x-ratelimit-reset-* headers.
std::string reset_text(Duration wait) {
  const int64_t ms = (wait.count() + 999'999) / 1'000'000;
  if (ms < 1000) return fmt::format("{}ms", ms);
  if (ms < 60'000) return fmt::format("{}s", static_cast<double>(ms) / 1000);
  return fmt::format("{}m{}s", ms / 60'000, static_cast<double>(ms % 60'000) / 1000);
}

int64_t whole_seconds(Duration wait) {
  return (wait.count() + 999'999'999) / 1'000'000'000;
}

void add_limit_header(std::string_view what, std::string_view fact, std::string_view value,
                      http::Headers& headers) {
  headers.add(fmt::format("x-ratelimit-{}-{}", fact, what), std::string(value));
}

}  // namespace

double RateLimit::level(TimePoint now) const {
  const double filled =
      static_cast<double>((now - since_).count()) * static_cast<double>(per_minute_) / kMinuteNs;
  return static_cast<double>(per_minute_) - std::max(0.0, spent_ - filled);
}

bool RateLimit::has(int64_t amount, TimePoint now) const {
  return until(amount, now) <= Duration::zero();
}

void RateLimit::spend(int64_t amount, TimePoint now) {
  if (!limits()) return;
  spent_ = static_cast<double>(per_minute_) - level(now) + static_cast<double>(amount);
  since_ = now;
}

int64_t RateLimit::remaining(TimePoint now) const {
  return std::max<int64_t>(0, static_cast<int64_t>(std::floor(level(now) + 1e-6)));
}

Duration RateLimit::until(int64_t amount, TimePoint now) const {
  if (!limits()) return {};
  const double missing = static_cast<double>(std::min(amount, per_minute_)) - level(now);
  // A millionth of a request is an error of arithmetic, not a request.
  if (missing <= 1e-6) return {};
  return Duration(
      static_cast<int64_t>(std::ceil(missing / static_cast<double>(per_minute_) * kMinuteNs)));
}

std::optional<SimReply> SimQuota::refusal(int64_t tokens, TimePoint now) const {
  if (!requests_.has(1, now)) return limit_reply("requests", requests_, requests_.until(1, now));
  if (!tokens_.has(tokens, now)) return limit_reply("tokens", tokens_, tokens_.until(tokens, now));
  return std::nullopt;
}

void SimQuota::spend(int64_t tokens, TimePoint now) {
  requests_.spend(1, now);
  tokens_.spend(tokens, now);
}

SimReply SimQuota::limit_reply(std::string_view what, const RateLimit& limit, Duration wait) const {
  SimReply reply = error_reply(
      429,
      fmt::format("Rate limit reached for {}. Please try again in {}.", what, reset_text(wait)),
      what, "rate_limit_exceeded");
  switch (style_) {
    case LimitHeaders::kRetryAfter:
      reply.headers.add("Retry-After", fmt::format("{}", whole_seconds(wait)));
      break;
    case LimitHeaders::kRateLimit:
      if (limit.limits()) {
        add_limit_header(what, "limit", fmt::format("{}", limit.per_minute()), reply.headers);
      }
      add_limit_header(what, "remaining", "0", reply.headers);
      add_limit_header(what, "reset", reset_text(wait), reply.headers);
      break;
    case LimitHeaders::kNone:
      break;
  }
  return reply;
}

void SimQuota::add_headers(TimePoint now, http::Headers& headers) const {
  const auto add = [&](std::string_view what, const RateLimit& limit) {
    if (!limit.limits()) return;
    add_limit_header(what, "limit", fmt::format("{}", limit.per_minute()), headers);
    add_limit_header(what, "remaining", fmt::format("{}", limit.remaining(now)), headers);
    add_limit_header(what, "reset", reset_text(limit.until_full(now)), headers);
  };
  add("requests", requests_);
  add("tokens", tokens_);
}

}  // namespace windrow::sim_upstream
