#include "sim_upstream/faults.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace windrow::sim_upstream {
namespace {

constexpr std::array<std::string_view, kFaultKinds> kNames = {"429",           "5xx",
                                                              "500",           "502",
                                                              "503",           "stall",
                                                              "reset",         "slow-body",
                                                              "truncated",     "content-type",
                                                              "swapped",       "schema",
                                                              "stream-error",  "stream-garbage",
                                                              "no-done",       "no-end",
                                                              "400",           "400-text",
                                                              "429-text",      "500-text",
                                                              "not-json",      "error-200",
                                                              "null-content",  "no-tokens",
                                                              "logprob-count", "few-rows",
                                                              "bad-base64"};

bool comes_in_storms(FaultKind kind) {
  switch (kind) {
    case FaultKind::kRateLimit:
    case FaultKind::kServerError:
    case FaultKind::kStatus500:
    case FaultKind::kStatus502:
    case FaultKind::kStatus503:
    case FaultKind::kStatus400:
    case FaultKind::kText400:
    case FaultKind::kText429:
    case FaultKind::kText500:
      return true;
    default:
      return false;
  }
}

bool takes_duration(FaultKind kind) {
  return comes_in_storms(kind) || kind == FaultKind::kStall || kind == FaultKind::kSlowBody;
}

// The number at the front of `text`, which then begins behind it.
std::optional<double> take_number(std::string_view& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || !std::isfinite(value)) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return value;
}

std::optional<Duration> parse_duration(std::string_view text) {
  constexpr double kHours = 24;
  const std::optional<double> value = take_number(text);
  double unit_s = 0;
  if (text == "ms") unit_s = 1e-3;
  if (text == "s") unit_s = 1;
  if (text == "min") unit_s = 60;
  if (!value || unit_s == 0 || *value <= 0 || *value * unit_s > kHours * 3600) return std::nullopt;
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(*value * unit_s));
}

}  // namespace

std::string_view to_string(FaultKind kind) {
  return kNames.at(static_cast<size_t>(kind));
}

Result<FaultRule> parse_fault(std::string_view text) {
  const auto refuse = [&](std::string_view why) {
    return Error{ErrorKind::kInvalid,
                 fmt::format("\"{}\" is no fault: {}; write KIND=CHANCE or KIND=CHANCE:TIME, as "
                             "429=0.01:2s",
                             text, why)};
  };
  const size_t equals = text.find('=');
  const std::string_view name = text.substr(0, equals);
  const auto* const found = std::ranges::find(kNames, name);
  if (found == kNames.end()) {
    return refuse(fmt::format("the kinds are {}", fmt::join(kNames, ", ")));
  }
  FaultRule rule;
  rule.kind = static_cast<FaultKind>(found - kNames.begin());
  std::string_view rest = equals == std::string_view::npos ? "" : text.substr(equals + 1);
  const std::optional<double> chance = take_number(rest);
  if (!chance || *chance < 0 || *chance > 1) return refuse("the chance is a number from 0 to 1");
  rule.probability = *chance;
  if (rest.empty()) return rule;
  if (!rest.starts_with(':')) return refuse("a colon stands between the chance and the time");
  if (!takes_duration(rule.kind)) return refuse(fmt::format("{} takes no time", name));
  rule.duration = parse_duration(rest.substr(1));
  if (!rule.duration) return refuse("the time is a number with ms, s or min, up to a day");
  return rule;
}

FaultDice::FaultDice(std::span<const FaultRule> rules, uint64_t seed)
    : rules_(rules.begin(), rules.end()), storm_until_(rules.size()), random_(seed) {}

std::optional<Strike> FaultDice::roll(TimePoint now) {
  std::optional<Strike> struck;
  for (size_t i = 0; i < rules_.size(); ++i) {
    const FaultRule& rule = rules_[i];
    const bool drawn = random_.chance(rule.probability);
    std::optional<TimePoint>& until = storm_until_[i];
    if (until && now >= *until) until.reset();
    if (drawn && !until && rule.duration && comes_in_storms(rule.kind))
      until = now + *rule.duration;
    if (struck || (!drawn && !until)) continue;
    struck =
        Strike{.kind = rule.kind, .duration = until ? std::optional(*until - now) : rule.duration};
  }
  return struck;
}

}  // namespace windrow::sim_upstream
