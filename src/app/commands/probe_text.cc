#include "app/commands/probe_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json/value.hpp>
#include <cctype>
#include <cmath>
#include <string_view>

#include "base/format.h"

namespace windrow::app {
namespace {

constexpr size_t kBarColumnsMin = 10;
constexpr size_t kBarColumnsMax = 60;

std::string latency_text(Duration latency) {
  const double s = seconds(latency);
  if (s < 1) return fmt::format("{:.0f} ms", s * 1000);
  return s < 100 ? fmt::format("{:.1f} s", s) : fmt::format("{:.0f} s", s);
}

// `share` of the columns, at least a trace of anything above nothing.
std::string bar(double share, size_t columns, bool utf8) {
  constexpr std::array<std::string_view, 8> kEighths = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const double length = std::clamp(share, 0.0, 1.0) * static_cast<double>(columns);
  std::string text;
  if (!utf8) {
    const auto whole = static_cast<size_t>(std::lround(length));
    return std::string(std::max<size_t>(whole, share > 0 ? 1 : 0), '#');
  }
  const auto eighths =
      std::max<size_t>(static_cast<size_t>(std::lround(length * 8)), share > 0 ? 1 : 0);
  for (size_t i = 0; i < eighths / 8; ++i)
    text += "█";
  return text + std::string(kEighths.at(eighths % 8));
}

bool all_told_tokens(std::span<const ProbeMeasure> measures) {
  return std::ranges::all_of(
      measures, [](const ProbeMeasure& one) { return one.all_told_tokens || one.answered == 0; });
}

std::string_view unit(std::span<const ProbeMeasure> measures) {
  return all_told_tokens(measures) ? "tokens/s" : "requests/s";
}

// What was measured at this number in flight; 0 where it was not.
double work_at(std::span<const ProbeMeasure> measures, int32_t in_flight) {
  const auto found = std::ranges::find(measures, in_flight, &ProbeMeasure::in_flight);
  return found == measures.end() ? 0 : found->work_per_s();
}

std::string why(const ProbeFinding& finding, std::span<const ProbeMeasure> measures) {
  const std::string reached =
      fmt::format("{} {}", human_rate(work_at(measures, finding.in_flight)), unit(measures));
  const std::string times =
      finding.gain > 1.05 ? fmt::format(", {:.1f} times as much as with 1", finding.gain) : "";
  switch (finding.kind) {
    case ProbeFindingKind::kNothing:
      return "no request was answered";
    case ProbeFindingKind::kOne:
      return fmt::format("{}; nothing else was measured to compare it with", reached);
    case ProbeFindingKind::kSerial:
      return fmt::format("the upstream is serial, it answers one request at a time: {}", reached);
    case ProbeFindingKind::kSaturates:
      return fmt::format("more in flight bring no more: {}{}", reached, times);
    case ProbeFindingKind::kRefuses:
      return finding.in_flight == 0
                 ? fmt::format("requests are refused (429, 503) even with {} in flight",
                               finding.refused_at)
                 : fmt::format("with {} in flight requests are refused (429, 503): {}{}",
                               finding.refused_at, reached, times);
    case ProbeFindingKind::kGrows:
      return fmt::format("the most that was measured, and more may bring more: {}{}", reached,
                         times);
  }
  return "";
}

std::string advice(const ProbeFinding& finding, upstream::ServerKind server) {
  switch (finding.kind) {
    case ProbeFindingKind::kSerial:
      return upstream::advice_if_serial(server);
    case ProbeFindingKind::kSaturates:
    case ProbeFindingKind::kRefuses:
      return upstream::advice_for_more(server);
    default:
      return "";
  }
}

}  // namespace

std::string probe_note(const ProbeMeasure& measure) {
  std::string text = fmt::format("{} in flight: {} requests/s", measure.in_flight,
                                 human_rate(measure.requests_per_s));
  if (measure.all_told_tokens)
    text += fmt::format(", {} tokens/s", human_rate(measure.tokens_per_s));
  if (measure.overloaded > 0) text += fmt::format(", {} refused", measure.overloaded);
  if (measure.failed > 0) text += fmt::format(", {} failed", measure.failed);
  return text;
}

std::string probe_table(std::span<const ProbeMeasure> measures, const ProbePlot& plot) {
  constexpr std::string_view kHeader =
      "in flight  requests/s  tokens/s       p50       p95  errors";
  double most = 0;
  for (const ProbeMeasure& one : measures)
    most = std::max(most, one.work_per_s());
  const size_t beside = kHeader.size() + 2;
  const size_t columns =
      std::clamp(plot.columns > beside ? plot.columns - beside : 0, kBarColumnsMin, kBarColumnsMax);
  std::string text = fmt::format("{}  {}\n", kHeader, unit(measures));
  for (const ProbeMeasure& one : measures) {
    const std::string tokens = one.all_told_tokens ? human_rate(one.tokens_per_s) : "-";
    std::string line =
        fmt::format("{:>9}  {:>10}  {:>8}  {:>8}  {:>8}  {:>6}  {}", one.in_flight,
                    human_rate(one.requests_per_s), tokens, latency_text(one.latency_p50),
                    latency_text(one.latency_p95), with_thousands(one.overloaded + one.failed),
                    bar(most > 0 ? one.work_per_s() / most : 0, columns, plot.utf8));
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string probe_recommendation(const ProbeFinding& finding,
                                 std::span<const ProbeMeasure> measures,
                                 const upstream::ServerIdentity& server) {
  std::string text;
  if (finding.in_flight > 0)
    text = fmt::format("recommended: --concurrency {}\n", finding.in_flight);
  text += why(finding, measures) + "\n";
  if (const std::string what = advice(finding, server.kind); !what.empty()) {
    const std::string name = upstream::to_string(server);
    text += name.empty() ? fmt::format("{}\n", what) : fmt::format("this is {}: {}\n", name, what);
  }
  if (finding.interrupted) text += "interrupted: more would have been measured\n";
  return text;
}

boost::json::object to_json(const ProbeMeasure& measure) {
  return {{"in_flight", measure.in_flight},
          {"answered", measure.answered},
          {"refused", measure.overloaded},
          {"failed", measure.failed},
          {"seconds", seconds(measure.time)},
          {"requests_per_s", measure.requests_per_s},
          {"tokens_per_s", measure.all_told_tokens ? boost::json::value(measure.tokens_per_s)
                                                   : boost::json::value(nullptr)},
          {"latency_p50_s", seconds(measure.latency_p50)},
          {"latency_p95_s", seconds(measure.latency_p95)}};
}

boost::json::object to_json(const ProbeFinding& finding) {
  return {
      {"kind", to_string(finding.kind)},
      {"concurrency",
       finding.in_flight > 0 ? boost::json::value(finding.in_flight) : boost::json::value(nullptr)},
      {"gain", finding.gain > 0 ? boost::json::value(finding.gain) : boost::json::value(nullptr)},
      {"interrupted", finding.interrupted}};
}

bool locale_is_utf8(const Environment& environment) {
  std::string locale;
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    locale = variable(environment, name);
    if (!locale.empty()) break;
  }
  std::ranges::transform(locale, locale.begin(), [](unsigned char letter) {
    return static_cast<char>(std::tolower(letter));
  });
  return locale.find("utf-8") != std::string::npos || locale.find("utf8") != std::string::npos;
}

}  // namespace windrow::app
