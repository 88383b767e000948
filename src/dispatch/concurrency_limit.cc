#include "dispatch/concurrency_limit.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>
#include <vector>

#include "base/ensure.h"

namespace windrow::dispatch {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;

// How long the ramp waits for answers: until half as many have come as may be in flight, it doubles
// each time this is over. Four of them lead to 64.
constexpr Duration kQuiet = milliseconds(1500);

// A doubling is kept when it gained this, a step down the ladder when it left that. Smaller
// differences could hardly be told from noise.
constexpr double kGain = 1.03;
constexpr double kKeeps = 0.98;

// The same where latencies say that only queueing changes: a measured difference is rather noise.
constexpr double kWaitingGain = 1.06;
constexpr double kWaitingKeeps = 0.95;

// When no more than this part of the requests in flight is worked on, more bring nothing.
constexpr double kBusyPart = 0.6;
constexpr double kBusyMargin = 1.3;  // for what busy() does not know
constexpr double kBusyRounding = 1.05;
constexpr double kRounds = 3;

// A trial is over when its error is below this, or when it had so many times the answers it needs,
// and at least so many.
constexpr double kTrialError = 0.015;
constexpr int64_t kTrialAnswersMin = 8;
constexpr int64_t kFindingAnswers = 3;
constexpr int64_t kTrialPatience = 4;
constexpr int64_t kTrialAnswersMax = 80;
constexpr Duration kTrialMin = milliseconds(250);

// Looking costs a trial with the wrong number: at most a twentieth of the time is spent so.
constexpr int64_t kLookRarity = 20;
constexpr Duration kLookMin = std::chrono::seconds(30);
constexpr Duration kLookMax = minutes(10);

// A throughput so far from what was measured is another server's, or another kind of row's.
constexpr double kDrift = 0.25;

constexpr double kCut = 0.7;
constexpr Duration kRefusedMin = std::chrono::seconds(30);
constexpr Duration kRefusedMax = minutes(10);

// --- the ladder: 1 2 3 4 6 8 12 16 24 ... --------------------------------------------------------

int32_t step_up(int32_t n) {
  if (n < 4) return n + 1;
  const auto power = static_cast<int32_t>(std::bit_floor(static_cast<uint32_t>(n)));
  return n < power + power / 2 ? power + power / 2 : 2 * power;
}

int32_t ladder_floor(int32_t n) {
  if (n <= 4) return std::max(n, 1);
  const auto power = static_cast<int32_t>(std::bit_floor(static_cast<uint32_t>(n)));
  return n < power + power / 2 ? power : power + power / 2;
}

int32_t ladder_ceil(double n) {
  int32_t step = 1;
  while (step < n)
    step = step_up(step);
  return step;
}

int32_t step_down(int32_t n) {
  return n <= 1 ? 0 : ladder_floor(n - 1);
}

// Between the two on the ladder, or `low` when they are neighbours.
int32_t middle(int32_t low, int32_t high) {
  int32_t steps = 0;
  for (int32_t n = high; n > low; n = step_down(n))
    ++steps;
  int32_t n = high;
  for (int32_t i = 0; i < steps / 2; ++i)
    n = step_down(n);
  return steps < 2 ? low : n;
}

}  // namespace

std::string to_string(const ConcurrencyFinding& finding) {
  switch (finding.kind) {
    case ConcurrencyKind::kMeasuring:
      if (finding.busy == 0) return fmt::format("measuring, {} in flight", finding.in_flight);
      return fmt::format("measuring, {} in flight, about {:.0f} worked on at a time",
                         finding.in_flight, std::max(finding.busy, 1.0));
    case ConcurrencyKind::kFixed:
      return fmt::format("{} in flight, as told", finding.in_flight);
    case ConcurrencyKind::kSerial:
      return "serial: it answers one request at a time";
    case ConcurrencyKind::kSaturates:
      return fmt::format("saturates at {} in flight", finding.in_flight);
    case ConcurrencyKind::kRefuses:
      return fmt::format("refuses more than {} in flight", finding.in_flight);
    case ConcurrencyKind::kUnlimited:
      return fmt::format("takes {} in flight, the most allowed", finding.in_flight);
  }
  ENSURE(false, "no such finding: {}", static_cast<int>(finding.kind));
}

ConcurrencyLimit::ConcurrencyLimit(ConcurrencyOptions options)
    : options_(options),
      limit_(options.fixed > 0 ? options.fixed
                               : std::clamp(options.initial, 1, std::max(options.limit_max, 1))),
      most_(options.fixed > 0 ? options.fixed : std::max(options.limit_max, 1)) {}

// --- events -------------------------------------------------------------------------------------

void ConcurrencyLimit::sent(TimePoint now, int32_t in_flight) {
  if (!began_) limit_since_ = now;
  began_ = true;
  limit_reached_ = limit_reached_ || in_flight >= limit_;
}

std::optional<TimePoint> ConcurrencyLimit::wake_at() const {
  const int32_t ramp_end = std::min(options_.unanswered_max, most_);
  const bool by_the_clock =
      options_.fixed == 0 && phase_ == Phase::kRamp && limit_reached_ && answers_ < limit_ / 2;
  if (!by_the_clock || limit_ >= ramp_end) return std::nullopt;
  return limit_since_ + kQuiet;
}

void ConcurrencyLimit::wake(TimePoint now) {
  const std::optional<TimePoint> at = wake_at();
  if (!at || now < *at) return;
  set_limit(now, std::min({2 * limit_, options_.unanswered_max, most_}));
}

void ConcurrencyLimit::ended(const Flight& flight) {
  if (flight.end == FlightEnd::kOther) return;
  if (flight.end == FlightEnd::kRefused) {
    least_refused_ = std::min(least_refused_, flight.in_flight);
    return;
  }
  const bool overload = flight.end == FlightEnd::kOverloaded;
  if (!overload && is_disturbed(flight)) return;
  if (!overload) least_refused_ = INT32_MAX;
  ++answers_;
  if (options_.fixed > 0) {
    if (!overload) trial_.add(flight.in_flight, flight.work, flight.ended - flight.sent);
    return;
  }
  if (overload) {
    overloaded(flight);
  } else if (phase_ == Phase::kRamp) {
    ramp(flight);
  } else {
    const bool counted = counts(flight);
    // Requests sent under an earlier limit count once this limit fills the server.
    if (counted || trial_.counting()) trial_.count(flight.ended, flight.work);
    if (!counted) return;
    trial_.add(flight.in_flight, flight.work, flight.ended - flight.sent);
    if (phase_ == Phase::kClimb && best_ == 0 && most_wait()) {
      begin_trial(flight.ended, Phase::kClimb, ladder_ceil(kBusyMargin * curve_.busy(trial_)));
    } else if (measured_enough(flight.ended)) {
      judge(flight.ended);
    }
  }
}

void ConcurrencyLimit::paused(TimePoint until) {
  paused_until_ = was_paused_ ? std::max(paused_until_, until) : until;
  was_paused_ = true;
  trial_.interrupt();
}

void ConcurrencyLimit::set_most(TimePoint now, int32_t most) {
  const int32_t own = options_.fixed > 0 ? options_.fixed : std::max(options_.limit_max, 1);
  most_ = std::clamp(most, 1, own);
  if (options_.fixed > 0 || limit_ <= most_) return;
  if (phase_ == Phase::kRamp) return set_limit(now, most_);
  // The best number is out of reach, and the best below it is unknown.
  best_ = 0;
  peak_ = 0;
  begin_trial(now, Phase::kClimb, most_);
}

// It was in flight during a pause.
bool ConcurrencyLimit::is_disturbed(const Flight& flight) const {
  return was_paused_ && flight.sent < paused_until_;
}

// A request that was sent beside few others says nothing about the limit.
bool ConcurrencyLimit::counts(const Flight& flight) const {
  return flight.sent >= limit_since_ && flight.in_flight > step_down(limit_);
}

void ConcurrencyLimit::set_limit(TimePoint now, int32_t limit) {
  limit_ = limit;
  limit_since_ = now;
  limit_reached_ = false;
  trial_ = {};
}

// --- overload -----------------------------------------------------------------------------------

void ConcurrencyLimit::overloaded(const Flight& flight) {
  if (was_cut_ && flight.sent < cut_at_) return;  // the cut was for this one too
  const TimePoint now = flight.ended;
  const int32_t refused = std::min({flight.in_flight, least_refused_, limit_});
  const int32_t less =
      ladder_floor(std::min(static_cast<int32_t>(kCut * limit_), std::max(refused - 1, 1)));
  const bool soon_again = was_cut_ && now < refused_until_ + refused_for_;
  refused_for_ =
      soon_again ? std::min<Duration>(2 * refused_for_, kRefusedMax) : Duration(kRefusedMin);
  refused_until_ = now + refused_for_;
  refused_at_ = std::max(refused, less + 1);
  was_cut_ = true;
  cut_at_ = now;
  best_ = 0;
  peak_ = 0;
  begin_trial(now, Phase::kClimb, less);
}

bool ConcurrencyLimit::may_try(TimePoint now, int32_t limit) const {
  const bool refused = refused_at_ > 0 && limit >= refused_at_ && now < refused_until_;
  return limit <= most_ && !refused;
}

// --- ramp ---------------------------------------------------------------------------------------

void ConcurrencyLimit::ramp(const Flight& flight) {
  const TimePoint now = flight.ended;
  if (!curve_.add_early(flight.in_flight, flight.work, now - flight.sent)) return;
  const std::optional<ThroughputCurve::Early> early = curve_.early();
  if (!early) return;
  if (!early->gains) return begin_trial(now, Phase::kClimb, std::min(limit_, early->in_flight));
  if (!ThroughputCurve::is_within(limit_, early->in_flight) || !limit_reached_) return;
  if (limit_ >= most_) return begin_trial(now, Phase::kClimb, limit_);
  set_limit(now, std::min(2 * limit_, most_));
}

// --- search -------------------------------------------------------------------------------------

void ConcurrencyLimit::begin_trial(TimePoint now, Phase phase, int32_t limit) {
  phase_ = phase;
  set_limit(now, limit);
}

bool ConcurrencyLimit::measured_enough(TimePoint now) const {
  const int64_t answers = std::max<int64_t>(kTrialAnswersMin, 2 * int64_t{limit_});
  if (trial_.answers() < answers || now < limit_since_ + kTrialMin) return false;
  return trial_.relative_error() <= kTrialError ||
         trial_.answers() >= std::max(kTrialPatience * answers, kTrialAnswersMax);
}

void ConcurrencyLimit::judge(TimePoint now) {
  const double work_per_s = trial_.work_per_s();
  if (phase_ == Phase::kHold) return look_at_hold(now, work_per_s);
  trial_took_ = now - limit_since_;
  curve_.set(limit_, trial_);
  if (refused_at_ > 0 && limit_ >= refused_at_) refused_at_ = 0;  // not so any more
  switch (phase_) {
    case Phase::kClimb:
    case Phase::kProbeUp:
      return climb(now, work_per_s);
    case Phase::kBisect:
    case Phase::kProbeDown:
      if (keeps(work_per_s)) {
        best_ = limit_;
        return phase_ == Phase::kBisect ? bisect(now) : begin_bisect(now);
      }
      too_few_ = limit_;
      return phase_ == Phase::kBisect ? bisect(now) : hold(now, false);
    case Phase::kRamp:
    case Phase::kHold:
      break;
  }
}

void ConcurrencyLimit::climb(TimePoint now, double work_per_s) {
  const bool first = best_ == 0;
  const double gain = !first && kBusyMargin * busy_at(best_) < best_ ? kWaitingGain : kGain;
  if (!first && work_per_s < gain * peak_) {
    return phase_ == Phase::kProbeUp ? probe_down(now) : begin_bisect(now);
  }
  best_ = limit_;
  peak_ = std::max(peak_, work_per_s);
  int32_t more = std::min(2 * limit_, most_);
  if (!may_try(now, more)) more = step_up(limit_);
  if (more <= limit_ || !may_try(now, more) || curve_.busy(trial_) < kBusyPart * limit_) {
    return begin_bisect(now);
  }
  begin_trial(now, Phase::kClimb, more);
}

// The first answers are the short ones; after a few rounds of those that are worked on, no more.
bool ConcurrencyLimit::most_wait() const {
  const double working = curve_.busy(trial_);
  const double answers = std::max<double>(kTrialAnswersMin, kRounds * working);
  return static_cast<double>(trial_.answers()) >= answers && working < kBusyPart * limit_ &&
         ladder_ceil(kBusyMargin * working) < limit_;
}

// The most that were worked on at a time; 0: it was not measured.
double ConcurrencyLimit::busy_at(int32_t limit) const {
  const ThroughputCurve::Point* point = curve_.at(limit);
  return point == nullptr ? 0 : point->busy;
}

bool ConcurrencyLimit::keeps(double work_per_s) const {
  const ThroughputCurve::Point* best = curve_.at(best_);
  const bool others_only_wait = best != nullptr && best->busy < limit_;
  return work_per_s >= (others_only_wait ? kWaitingKeeps : kKeeps) * peak_;
}

// Below the best, where to look first: as many as do not wait, if that is less; else nowhere.
int32_t ConcurrencyLimit::number_busy() const {
  const ThroughputCurve::Point* best = curve_.at(best_);
  return best == nullptr ? best_ : std::min(ladder_ceil(kBusyRounding * best->busy), best_);
}

void ConcurrencyLimit::begin_bisect(TimePoint now) {
  too_few_ = 0;
  phase_ = Phase::kBisect;
  bisect(now);
}

void ConcurrencyLimit::bisect(TimePoint now) {
  for (int32_t n = step_up(too_few_); n < best_; n = step_up(n)) {
    if (!curve_.can_keep_up(n, peak_)) too_few_ = n;
  }
  const int32_t guess = number_busy();
  const int32_t between = guess > too_few_ && guess < best_ ? guess : middle(too_few_, best_);
  if (between <= too_few_) return hold(now, true);
  begin_trial(now, Phase::kBisect, between);
}

// --- hold ---------------------------------------------------------------------------------------

void ConcurrencyLimit::hold(TimePoint now, bool learnt) {
  const Duration rare = kLookRarity * trial_took_;
  const Duration at_least = std::max<Duration>(kLookMin, rare);
  look_interval_ = learnt ? at_least
                          : std::clamp<Duration>(2 * look_interval_, at_least,
                                                 std::max<Duration>(kLookMax, rare));
  look_at_ = now + look_interval_;
  finding_ = found(now);
  begin_trial(now, Phase::kHold, best_);
}

void ConcurrencyLimit::look_at_hold(TimePoint now, double work_per_s) {
  const ThroughputCurve::Point* before = curve_.at(best_);
  const double before_per_s = before == nullptr ? 0 : before->work_per_s;
  const bool drifted =
      work_per_s > (1 + kDrift) * before_per_s || work_per_s < (1 - kDrift) * before_per_s;
  if (drifted) {
    curve_.forget();
    best_ = 0;
    peak_ = 0;
    return begin_trial(now, Phase::kClimb, limit_);
  }
  curve_.set(best_, trial_);
  finding_ = found(now);
  peak_ = std::max(work_per_s, kKeeps * peak_);
  if (now < look_at_) {
    trial_ = {};
    return;
  }
  curve_.forget_early();  // long ago
  if (may_try(now, step_up(best_))) return begin_trial(now, Phase::kProbeUp, step_up(best_));
  probe_down(now);
}

void ConcurrencyLimit::probe_down(TimePoint now) {
  const int32_t less = std::min(step_down(best_), number_busy());
  if (less == 0) return hold(now, false);
  begin_trial(now, Phase::kProbeDown, less);
}

// --- what was found -----------------------------------------------------------------------------

ConcurrencyFinding ConcurrencyLimit::found(TimePoint now) const {
  ConcurrencyFinding finding{.kind = ConcurrencyKind::kSaturates, .in_flight = best_};
  if (const ThroughputCurve::Point* here = curve_.at(best_)) {
    finding.work_per_s = here->work_per_s;
    finding.latency_s = here->latency_s;
    finding.busy = here->busy;
  }
  if (curve_.is_serial(best_)) {
    finding.kind = ConcurrencyKind::kSerial;
  } else if (refused_at_ > 0 && step_up(best_) >= refused_at_ && now < refused_until_) {
    finding.kind = ConcurrencyKind::kRefuses;
  } else if (best_ >= most_) {
    finding.kind = ConcurrencyKind::kUnlimited;
  }
  return finding;
}

ConcurrencyFinding ConcurrencyLimit::finding() const {
  if (options_.fixed > 0) {
    return {.kind = ConcurrencyKind::kFixed,
            .in_flight = options_.fixed,
            .work_per_s = trial_.work_per_s(),
            .latency_s = trial_.latency_mean_s()};
  }
  if (finding_.kind != ConcurrencyKind::kMeasuring) return finding_;
  ConcurrencyFinding finding{.in_flight = limit_};
  const ThroughputEstimate* known = &trial_;
  if (trial_.answers() < kTrialAnswersMin) {
    if (const ThroughputEstimate* early = curve_.highest_early()) known = early;
  }
  if (known->answers() >= kFindingAnswers) {
    finding.work_per_s = known->work_per_s();
    finding.latency_s = known->latency_mean_s();
    finding.busy = curve_.busy(*known);
  }
  return finding;
}

// --- all upstreams together ---------------------------------------------------------------------

SharedLimit::SharedLimit(int32_t calls_max)
    : given_max_(calls_max > 0 ? calls_max : INT32_MAX),
      calls_max_(given_max_),
      is_limited_(calls_max > 0) {}

int32_t SharedLimit::calls_max() const {
  return static_cast<int32_t>(calls_max_);
}

bool SharedLimit::has_room(size_t out) const {
  return std::cmp_less(out, calls_max());
}

void SharedLimit::fell_short(size_t out) {
  is_limited_ = true;
  calls_max_ = std::min(calls_max_, std::max(static_cast<double>(out), 1.0));
}

void SharedLimit::answered() {
  if (is_limited_) calls_max_ = std::min(calls_max_ + 1 / calls_max_, given_max_);
}

int32_t SharedLimit::most_for(size_t upstream, std::span<const int32_t> wanted) const {
  std::vector<int32_t> others;
  others.reserve(wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (i != upstream) others.push_back(wanted[i]);
  }
  std::ranges::sort(others);
  int64_t left = calls_max();
  int64_t sharers = std::ssize(others) + 1;
  for (const int32_t other : others) {
    if (other > left / sharers) break;
    left -= other;
    --sharers;
  }
  return static_cast<int32_t>(std::max<int64_t>(left / sharers, 1));
}

}  // namespace windrow::dispatch
