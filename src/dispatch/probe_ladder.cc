#include "dispatch/probe_ladder.h"

#include <algorithm>
#include <utility>

namespace windrow::dispatch {
namespace {

// A doubling that brings less is none worth having; and the smallest number that reaches so much of
// the best is the one to work with.
constexpr double kProbeGain = 1.05;
constexpr double kProbeKeeps = 0.95;
constexpr int32_t kWithoutGainMax = 2;

// What more in flight may bring at a serial server: the time between two requests. One that truly
// works on two at a time gains more.
constexpr double kSerialGain = 1.25;

}  // namespace

std::string_view to_string(ProbeFindingKind kind) {
  switch (kind) {
    case ProbeFindingKind::kNothing:
      return "nothing";
    case ProbeFindingKind::kOne:
      return "one";
    case ProbeFindingKind::kSerial:
      return "serial";
    case ProbeFindingKind::kSaturates:
      return "saturates";
    case ProbeFindingKind::kRefuses:
      return "refuses";
    case ProbeFindingKind::kGrows:
      return "grows";
  }
  return "";
}

ProbeLadder::ProbeLadder(ProbeLadderOptions options) : options_(std::move(options)) {}

std::optional<int32_t> ProbeLadder::next() const {
  if (ended_) return std::nullopt;
  if (!options_.in_flight.empty()) {
    if (measures_.size() >= options_.in_flight.size()) return std::nullopt;
    return options_.in_flight[measures_.size()];
  }
  if (measures_.empty()) return 1;
  const int32_t last = measures_.back().in_flight;
  if (without_gain_ >= kWithoutGainMax || last > options_.in_flight_max / 2) return std::nullopt;
  return 2 * last;
}

void ProbeLadder::add(const ProbeMeasure& measure) {
  const double work_per_s = measure.work_per_s();
  without_gain_ = work_per_s > kProbeGain * best_ ? 0 : without_gain_ + 1;
  best_ = std::max(best_, work_per_s);
  ended_ = measure.refuses || measure.answered <= measure.overloaded + measure.failed;
  measures_.push_back(measure);
}

ProbeFinding ProbeLadder::finding() const {
  ProbeFinding finding{.interrupted = next().has_value()};
  // The numbers that were not refused, smallest first.
  std::vector<const ProbeMeasure*> good;
  for (const ProbeMeasure& measure : measures_) {
    if (measure.answered > 0 && !measure.refuses) good.push_back(&measure);
    if (measure.refuses && (finding.refused_at == 0 || measure.in_flight < finding.refused_at))
      finding.refused_at = measure.in_flight;
  }
  if (good.empty()) {
    if (finding.refused_at > 0) finding.kind = ProbeFindingKind::kRefuses;
    return finding;
  }
  std::ranges::sort(good, {}, &ProbeMeasure::in_flight);
  const auto work = [](const ProbeMeasure* measure) { return measure->work_per_s(); };
  const double best = work(*std::ranges::max_element(good, {}, work));
  const auto enough =
      std::ranges::find_if(good, [&](const auto* one) { return work(one) >= kProbeKeeps * best; });
  finding.in_flight = (*enough)->in_flight;
  const ProbeMeasure& first = *good.front();
  if (first.in_flight == 1 && work(&first) > 0) finding.gain = best / work(&first);

  const bool is_largest = *enough == good.back();
  if (is_largest && finding.refused_at > finding.in_flight) {
    finding.kind = ProbeFindingKind::kRefuses;
  } else if (good.size() == 1) {
    finding.kind = ProbeFindingKind::kOne;
  } else if (first.in_flight == 1 && finding.gain < kSerialGain) {
    finding.kind = ProbeFindingKind::kSerial;
  } else {
    finding.kind = is_largest ? ProbeFindingKind::kGrows : ProbeFindingKind::kSaturates;
  }
  return finding;
}

}  // namespace windrow::dispatch
