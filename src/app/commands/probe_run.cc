#include "app/commands/probe_run.h"

#include <algorithm>
#include <utility>

namespace windrow::app {
namespace {

using dispatch::ConcurrencyKind;
using dispatch::FlightEnd;

// The fewest in flight that reach so much of the best are the number to work with.
constexpr double kProbeKeeps = 0.95;

// Fewer in flight whose first, short measure reaches so much of the best are measured again.
constexpr double kWorthConfirming = 0.5;

// What more in flight may bring at a serial server: the time between two requests. One that really
// works on two at a time gains more.
constexpr double kSerialGain = 1.25;

// The smallest latency that `share` of them do not exceed.
Duration quantile(std::vector<Duration> latencies, double share) {
  if (latencies.empty()) return {};
  const auto rank = static_cast<size_t>(share * static_cast<double>(latencies.size() - 1) + 0.5);
  const auto at = latencies.begin() + static_cast<std::ptrdiff_t>(rank);
  std::nth_element(latencies.begin(), at, latencies.end());
  return *at;
}

dispatch::ConcurrencyOptions concurrency(const ProbeRunOptions& options) {
  if (!options.in_flight.empty()) return {.fixed = options.in_flight.front()};
  return {.initial = 1, .limit_max = options.in_flight_max};
}

double gain_over_one(double best, std::span<const ProbeMeasure> measures) {
  const auto one = std::ranges::find(measures, 1, &ProbeMeasure::in_flight);
  return one != measures.end() && one->work_per_s() > 0 ? best / one->work_per_s() : 0;
}

ProbeFindingKind kind_of(ConcurrencyKind kind) {
  switch (kind) {
    case ConcurrencyKind::kSerial:
      return ProbeFindingKind::kSerial;
    case ConcurrencyKind::kRefuses:
      return ProbeFindingKind::kRefuses;
    case ConcurrencyKind::kUnlimited:
      return ProbeFindingKind::kGrows;
    default:
      return ProbeFindingKind::kSaturates;
  }
}

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

ProbeFinding compare(std::span<const ProbeMeasure> measures) {
  ProbeFinding finding;
  std::vector<const ProbeMeasure*> good;  // that were not refused, fewest in flight first
  for (const ProbeMeasure& measure : measures) {
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
  finding.gain = gain_over_one(best, measures);

  const bool is_largest = *enough == good.back();
  if (is_largest && finding.refused_at > finding.in_flight) {
    finding.kind = ProbeFindingKind::kRefuses;
  } else if (good.size() == 1) {
    finding.kind = ProbeFindingKind::kOne;
  } else if (good.front()->in_flight == 1 && finding.gain < kSerialGain) {
    finding.kind = ProbeFindingKind::kSerial;
  } else {
    finding.kind = is_largest ? ProbeFindingKind::kGrows : ProbeFindingKind::kSaturates;
  }
  return finding;
}

ProbeRun::ProbeRun(ProbeRunOptions options, TimePoint now)
    : options_(std::move(options)), limit_(concurrency(options_)) {
  visit(now, limit_->limit());
}

// --- events -------------------------------------------------------------------------------------

int64_t ProbeRun::sent(TimePoint now) {
  const auto in_flight = static_cast<int32_t>(flights_.size()) + 1;
  limit_->sent(now, in_flight);
  failures_.sent();
  flights_.emplace(
      ++requests_,
      Flight{.sent = now, .in_flight = in_flight, .visit = visits_, .ticket = refusals_.sent()});
  return requests_;
}

void ProbeRun::ended(TimePoint now, int64_t request, ProbeEnd end, int64_t tokens) {
  Flight flight = flights_.extract(request).mapped();
  // Both watches begin anew with each given or confirmed number; 0 is none of their tickets.
  if ((!searches() || found_) && flight.visit != visits_) flight.ticket = 0;
  const bool overloaded = notice_overload(flight, end);
  if (over_) return;
  count(now, flight, end, tokens);
  limit_->ended({.sent = flight.sent,
                 .ended = now,
                 .in_flight = flight.in_flight,
                 .work = tokens > 0 ? static_cast<double>(tokens) : 1,
                 .end = overloaded                     ? FlightEnd::kOverloaded
                        : end == ProbeEnd::kAnswered   ? FlightEnd::kAnswered
                        : end == ProbeEnd::kOverloaded ? FlightEnd::kRefused
                                                       : FlightEnd::kOther});
  if (overloaded) {
    Tally& tally = tallies_.at(number_);
    tally.counts.refuses = true;
    // Fewer cannot be tried.
    if (searches() && number_ == 1) over_ = true;
  }
  advance(now);
}

// Whether with this end it was noticed that so many in flight are too many.
bool ProbeRun::notice_overload(const Flight& flight, ProbeEnd end) {
  switch (end) {
    case ProbeEnd::kAnswered:
      refusals_.answered(flight.ticket);
      failures_.answered(flight.ticket);
      return false;
    case ProbeEnd::kOverloaded:
      failures_.ended_otherwise(flight.ticket);
      return refusals_.refused(flight.ticket);
    case ProbeEnd::kFailed:
      refusals_.ended_otherwise(flight.ticket);
      fails_ = failures_.refused(flight.ticket) || fails_;
      return false;
  }
  return false;
}

void ProbeRun::count(TimePoint now, const Flight& flight, ProbeEnd end, int64_t tokens) {
  Tally& tally = tallies_.at(number_);
  ProbeMeasure& counts = tally.counts;
  counts.overloaded += end == ProbeEnd::kOverloaded ? 1 : 0;
  counts.failed += end == ProbeEnd::kFailed ? 1 : 0;
  // A request that was sent with fewer in flight finds a shorter queue.
  const bool full = flight.visit == visits_ && flight.in_flight >= number_;
  tally.full_ends += full ? 1 : 0;
  if (end != ProbeEnd::kAnswered) return;
  ++counts.answered;
  tally.tokens += tokens;
  tally.told_tokens += tokens > 0 ? 1 : 0;
  const Duration latency = now - flight.sent;
  const auto work = static_cast<double>(tokens);
  (full ? tally.latencies : tally.early_latencies).push_back(latency);
  if (full || tally.requests.counting()) {
    tally.requests.count(now, 1);
    tally.work.count(now, work);
  }
  if (!full) return;
  tally.requests.add(flight.in_flight, 1, latency);
  tally.work.add(flight.in_flight, work, latency);
}

TimePoint ProbeRun::wake_at() const {
  const TimePoint latest = visit_since_ + options_.time_max;
  return std::min(limit_->wake_at().value_or(latest), latest);
}

void ProbeRun::wake(TimePoint now) {
  limit_->wake(now);
  if (!over_) advance(now);
}

void ProbeRun::stop(TimePoint now) {
  if (over_) return;
  const ProbeMeasure& counts = tallies_.at(number_).counts;
  const bool was_measured = counts.answered >= counts.in_flight;
  leave(now);
  if (!was_measured) std::erase(order_, number_);
  over_ = true;
}

// --- numbers ------------------------------------------------------------------------------------

bool ProbeRun::is_measured(TimePoint now) const {
  const Tally& tally = tallies_.at(number_);
  if (fails_ || tally.counts.refuses) return true;
  if (tally.full_ends < std::max<int64_t>(kProbeRequestsMin, number_)) return false;
  return (options_.requests_each > 0 && tally.full_ends >= options_.requests_each) ||
         (options_.time_each > Duration{} && now - visit_since_ >= options_.time_each);
}

// To the next number, where there is one.
void ProbeRun::advance(TimePoint now) {
  const bool timed_out = now >= visit_since_ + options_.time_max;
  if (found_) {
    if (!over_ && !timed_out && !fails_ && !is_known(tallies_.at(number_))) return;
    leave(now);
    over_ = over_ || timed_out || fails_;
    if (!over_) confirm_next(now);
    return;
  }
  if (searches()) {
    const bool is_found = limit_->finding().kind != ConcurrencyKind::kMeasuring;
    over_ = over_ || fails_ || timed_out;
    if (!over_ && !is_found && limit_->limit() == number_) return;
    leave(now);
    if (over_) return;
    if (!is_found) return visit(now, limit_->limit());
    found_ = limit_->finding();
    confirm_next(now);
    return;
  }
  if (!is_measured(now) && !timed_out) return;
  const ProbeMeasure& counts = tallies_.at(number_).counts;
  leave(now);
  const auto next = static_cast<size_t>(visits_);
  over_ = counts.refuses || counts.answered <= counts.overloaded + counts.failed ||
          next >= options_.in_flight.size();
  if (over_) return;
  limit_.emplace(dispatch::ConcurrencyOptions{.fixed = options_.in_flight[next]});
  refusals_ = {};
  failures_ = {};
  visit(now, options_.in_flight[next]);
}

// Enough of its requests ended for its rates to be compared. The first steps of a search are
// shorter.
bool ProbeRun::is_known(const Tally& tally) {
  return tally.counts.refuses ||
         tally.full_ends >=
             std::max<int64_t>(kProbeRequestsMin, int64_t{3} * tally.counts.in_flight);
}

// A search passes small numbers quickly. Numbers below its finding that may reach its rate are
// measured again, the largest first, before one of them may be recommended in its place.
void ProbeRun::confirm_next(TimePoint now) {
  const auto best = tallies_.find(found_->in_flight);
  const double rate = best != tallies_.end() ? measure_of(best->second).work_per_s() : 0;
  const auto thin = std::find_if(tallies_.rbegin(), tallies_.rend(), [&](const auto& one) {
    return one.first < found_->in_flight && one.second.counts.answered > 0 &&
           !is_known(one.second) && measure_of(one.second).work_per_s() >= kWorthConfirming * rate;
  });
  over_ = rate <= 0 || thin == tallies_.rend();
  if (over_) return;
  const int32_t number = thin->first;
  limit_.emplace(dispatch::ConcurrencyOptions{.fixed = number});
  refusals_ = {};
  failures_ = {};
  visit(now, number);
}

void ProbeRun::visit(TimePoint now, int32_t number) {
  number_ = number;
  visit_since_ = now;
  ++visits_;
  const auto [tally, fresh] = tallies_.try_emplace(number);
  tally->second.counts.in_flight = number;
  if (fresh) order_.push_back(number);
}

void ProbeRun::leave(TimePoint now) {
  Tally& tally = tallies_.at(number_);
  tally.counts.time += now - visit_since_;
  tally.requests.interrupt();
  tally.work.interrupt();
  left_.push_back(number_);
}

// --- what was found -----------------------------------------------------------------------------

ProbeMeasure ProbeRun::measure_of(const Tally& tally) {
  ProbeMeasure measure = tally.counts;
  measure.all_told_tokens = measure.answered > 0 && tally.told_tokens == measure.answered;
  measure.requests_per_s = tally.requests.work_per_s();
  measure.tokens_per_s = tally.work.work_per_s();
  if (tally.requests.answers() == 0 && measure.time > Duration{}) {
    measure.requests_per_s = static_cast<double>(measure.answered) / seconds(measure.time);
    measure.tokens_per_s = static_cast<double>(tally.tokens) / seconds(measure.time);
  }
  const std::vector<Duration>& latencies =
      tally.latencies.empty() ? tally.early_latencies : tally.latencies;
  measure.latency_p50 = quantile(latencies, 0.5);
  measure.latency_p95 = quantile(latencies, 0.95);
  return measure;
}

std::vector<ProbeMeasure> ProbeRun::take_left() {
  std::vector<ProbeMeasure> measures;
  for (const int32_t number : std::exchange(left_, {})) {
    if (std::ranges::find(order_, number) != order_.end())
      measures.push_back(measure_of(tallies_.at(number)));
  }
  return measures;
}

std::vector<ProbeMeasure> ProbeRun::measures() const {
  std::vector<ProbeMeasure> measures;
  for (const int32_t number : order_)
    measures.push_back(measure_of(tallies_.at(number)));
  if (searches()) std::ranges::sort(measures, {}, &ProbeMeasure::in_flight);
  return measures;
}

ProbeFinding ProbeRun::finding() const {
  const std::vector<ProbeMeasure> all = measures();
  ProbeFinding finding = compare(all);
  const dispatch::ConcurrencyFinding found = found_.value_or(limit_->finding());
  if (!searches() || found.kind == ConcurrencyKind::kMeasuring) return finding;
  finding.kind = kind_of(found.kind);
  finding.in_flight = found.in_flight;
  const auto best = std::ranges::find(all, found.in_flight, &ProbeMeasure::in_flight);
  if (best == all.end()) return finding;
  finding.gain = gain_over_one(best->work_per_s(), all);
  // Less than a job gives up: fewer in flight that do nearly as much are what a person wants.
  const auto enough = std::ranges::find_if(all, [&](const ProbeMeasure& one) {
    return one.answered >= one.in_flight && !one.refuses &&
           one.work_per_s() >= kProbeKeeps * best->work_per_s();
  });
  if (enough != all.end() && enough->in_flight < found.in_flight) {
    finding.in_flight = enough->in_flight;
    if (finding.kind == ProbeFindingKind::kGrows) finding.kind = ProbeFindingKind::kSaturates;
  }
  // As compare() names it.
  const bool is_serial =
      finding.in_flight == 1 && all.size() > 1 && finding.gain > 0 && finding.gain < kSerialGain;
  if (is_serial && finding.kind == ProbeFindingKind::kSaturates)
    finding.kind = ProbeFindingKind::kSerial;
  return finding;
}

}  // namespace windrow::app
