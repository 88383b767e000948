#include "sim_upstream/limit_headers.h"

#include <fmt/format.h>

#include <cstdint>
#include <string>

#include "sim_upstream/reply_body.h"

namespace windrow::sim_upstream {
namespace {

// "1.5s", "120ms": as services write it that use x-ratelimit-reset-*.
std::string reset_text(Duration wait) {
  const int64_t ms = (wait.count() + 999'999) / 1'000'000;
  if (ms < 1000) return fmt::format("{}ms", ms);
  if (ms < 60'000) return fmt::format("{}s", static_cast<double>(ms) / 1000);
  return fmt::format("{}m{}s", ms / 60'000, static_cast<double>(ms % 60'000) / 1000);
}

int64_t whole_seconds(Duration wait) {
  return (wait.count() + 999'999'999) / 1'000'000'000;
}

void add(std::string_view what, std::string_view fact, std::string_view value,
         http::Headers& headers) {
  headers.add(fmt::format("x-ratelimit-{}-{}", fact, what), std::string(value));
}

}  // namespace

SimReply error_reply(int status, std::string_view message, std::string_view type,
                     std::string_view code) {
  return {.status = status, .body = error_body(message, type, code)};
}

SimReply limit_reply(LimitHeaders style, std::string_view what, const RateLimit& limit,
                     Duration wait) {
  SimReply reply = error_reply(
      429,
      fmt::format("Rate limit reached for {}. Please try again in {}.", what, reset_text(wait)),
      what, "rate_limit_exceeded");
  switch (style) {
    case LimitHeaders::kRetryAfter:
      reply.headers.add("Retry-After", fmt::format("{}", whole_seconds(wait)));
      break;
    case LimitHeaders::kRateLimit:
      if (limit.limits()) add(what, "limit", fmt::format("{}", limit.per_minute()), reply.headers);
      add(what, "remaining", "0", reply.headers);
      add(what, "reset", reset_text(wait), reply.headers);
      break;
    case LimitHeaders::kNone:
      break;
  }
  return reply;
}

void add_limit_headers(std::string_view what, const RateLimit& limit, TimePoint now,
                       http::Headers& headers) {
  if (!limit.limits()) return;
  add(what, "limit", fmt::format("{}", limit.per_minute()), headers);
  add(what, "remaining", fmt::format("{}", limit.remaining(now)), headers);
  add(what, "reset", reset_text(limit.until_full(now)), headers);
}

}  // namespace windrow::sim_upstream
