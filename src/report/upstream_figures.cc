#include "report/upstream_figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/value.hpp>
#include <string_view>

#include "base/format.h"
#include "json/values.h"

namespace windrow::report {
namespace {

namespace json = boost::json;

// Less is nothing: it would be shown as 0 %.
constexpr double kCacheWorthSaying = 0.005;

std::string_view without_scheme(std::string_view name) {
  const size_t place = name.find("://");
  return place == std::string_view::npos ? name : name.substr(place + 3);
}

std::string seconds_text(double seconds) {
  return seconds < 1 ? fmt::format("{:.0f} ms", seconds * 1000) : fmt::format("{:.1f} s", seconds);
}

}  // namespace

json::object to_json(const llm::UpstreamStatus& upstream) {
  json::object failures;
  for (const auto& [code, count] : upstream.failures_by_code)
    failures[code] = count;
  return {{"name", upstream.name},
          {"state", upstream.state},
          {"answers", upstream.answers},
          {"failures", upstream.failures},
          {"failures_by_code", std::move(failures)},
          {"prompt_tokens", upstream.prompt_tokens},
          {"generated_tokens", upstream.generated_tokens},
          {"latency_s", upstream.latency_s},
          {"in_flight", upstream.in_flight},
          {"in_flight_max", upstream.in_flight_max},
          {"finding", upstream.finding},
          {"device_bytes",
           upstream.device_bytes > 0 ? json::value(upstream.device_bytes) : json::value(nullptr)},
          {"kv_cache_used", json_or_null(upstream.cache_used)},
          {"kv_cache_used_max", json_or_null(upstream.cache_used_max)}};
}

std::string upstreams_text(std::span<const llm::UpstreamStatus> upstreams) {
  size_t width = 0;
  for (const llm::UpstreamStatus& upstream : upstreams)
    width = std::max(width, upstream.name.size());
  std::string text;
  for (const llm::UpstreamStatus& upstream : upstreams) {
    if (upstream.answers + upstream.failures == 0 && upstream.in_flight == 0) {
      text += fmt::format("{:<{}}  nothing was asked\n", upstream.name, width);
      continue;
    }
    text += fmt::format("{:<{}}  {} answers, {} failed calls, ", upstream.name, width,
                        with_thousands(upstream.answers), with_thousands(upstream.failures));
    if (upstream.answers > 0) text += fmt::format("{} each, ", seconds_text(upstream.latency_s));
    text += upstream.finding;
    if (upstream.state != "ok") text += fmt::format(", {}", upstream.state);
    if (upstream.device_bytes > 0)
      text += fmt::format(", {} of its device", human_bytes(upstream.device_bytes));
    if (upstream.cache_used_max.value_or(0) >= kCacheWorthSaying)
      text += fmt::format(", KV cache up to {} full", percent_of(*upstream.cache_used_max));
    text += '\n';
  }
  return text;
}

std::string upstream_piece(const llm::UpstreamStatus& upstream) {
  std::string text = fmt::format("{} {}/{}", without_scheme(upstream.name), upstream.in_flight,
                                 upstream.in_flight_max);
  if (upstream.latency_s > 0) text += fmt::format(" {}", seconds_text(upstream.latency_s));
  if (upstream.cache_used.value_or(0) >= kCacheWorthSaying)
    text += fmt::format(" KV {}", percent_of(*upstream.cache_used));
  if (upstream.device_bytes > 0) text += fmt::format(" {}", human_bytes(upstream.device_bytes));
  if (upstream.state != "ok") text += fmt::format(" {}", upstream.state);
  return text;
}

}  // namespace windrow::report
