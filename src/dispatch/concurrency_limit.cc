#include "dispatch/concurrency_limit.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "base/ensure.h"

namespace windrow::dispatch {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;

// How long the ramp waits for answers: until half as many have come as may be in flight, it doubles
// each time this is over. Four of them lead to 64.
constexpr Duration kQuiet = milliseconds(1500);

// A doubling in the ramp is worth another when it brought this. What the ramp measures is rough,
// and too much only waits.
constexpr double kRampGain = 1.15;

// A doubling is kept when it brought this, a step down the ladder when it left that. What is given
// up could hardly be told from noise anyway.
constexpr double kGain = 1.03;
constexpr double kKeeps = 0.98;

// The same where latencies say that only waiting comes or goes: what is measured is rather noise.
constexpr double kWaitingGain = 1.06;
constexpr double kWaitingKeeps = 0.95;

// When no more than this part of the requests in flight is worked on, more bring nothing.
constexpr double kBusyPart = 0.6;
constexpr double kBusyMargin = 1.3;  // for what busy() does not know
constexpr double kBusyRounding = 1.05;
constexpr double kRounds = 3;

// So few are worked on at a time, of no more than so many, that it is one; and with n in flight
// each takes at least this part of n times as long as alone.
constexpr double kSerialBusy = 1.3;
constexpr int32_t kSerialMax = 8;
constexpr double kSerialSlowdown = 0.75;

// A trial is over when its error is below this, or when it had so many times the answers it needs,
// and at least so many.
constexpr double kTrialError = 0.015;
constexpr int64_t kTrialAnswersMin = 8;
constexpr int64_t kAloneAnswers = 3;
constexpr double kFewMargin = 1.2;  // for a pace that fewer answers say
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

// --- octaves ------------------------------------------------------------------------------------

size_t octave_of(int32_t in_flight) {
  return static_cast<size_t>(std::bit_width(static_cast<uint32_t>(std::max(in_flight, 1) - 1)));
}

int32_t octave_end(size_t octave) {
  return int32_t{1} << octave;
}

bool enough_for_octave(const ThroughputEstimate& estimate, size_t octave) {
  return estimate.answers() >= std::max<int64_t>(3, octave_end(octave) / 4);
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
    // What is left of another limit is counted once this one fills the server.
    if (counted || trial_.counting()) trial_.count(flight.ended, flight.work);
    if (!counted) return;
    trial_.add(flight.in_flight, flight.work, flight.ended - flight.sent);
    if (phase_ == Phase::kClimb && best_ == 0 && most_wait()) {
      begin_trial(flight.ended, Phase::kClimb, ladder_ceil(kBusyMargin * busy(trial_)));
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
  // What was found is out of reach, and what is best below it is not known.
  best_ = 0;
  peak_ = 0;
  begin_trial(now, Phase::kClimb, most_);
}

// It was out in a pause.
bool ConcurrencyLimit::is_disturbed(const Flight& flight) const {
  return was_paused_ && flight.sent < paused_until_;
}

// A request that went out beside few others says nothing about the limit.
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
  const size_t octave = octave_of(flight.in_flight);
  if (octave >= kOctaves) return;
  octaves_[octave].add(flight.in_flight, flight.work, flight.ended - flight.sent);

  // The highest octave of which enough is known, and the next such below it.
  size_t high = kOctaves;
  std::optional<size_t> low;
  for (size_t i = kOctaves; i-- > 0 && !low;) {
    if (!enough_for_octave(octaves_[i], i)) continue;
    if (high == kOctaves) {
      high = i;
    } else {
      low = i;
    }
  }
  if (high == kOctaves) return;
  if (low) {
    double gain_wanted = 1;
    for (size_t i = *low; i < high; ++i)
      gain_wanted *= kRampGain;
    if (octaves_[high].work_per_s() < gain_wanted * octaves_[*low].work_per_s()) {
      return end_ramp(flight.ended, std::min(limit_, octave_end(high)));
    }
  }
  if (high < octave_of(limit_) || !limit_reached_) return;
  if (limit_ >= most_) return end_ramp(flight.ended, limit_);
  set_limit(flight.ended, std::min(2 * limit_, most_));
}

void ConcurrencyLimit::end_ramp(TimePoint now, int32_t limit) {
  begin_trial(now, Phase::kClimb, limit);
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
  measured_[limit_] = {work_per_s, trial_.seconds_per_work(), trial_.latency_mean_s(),
                       busy(trial_)};
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
  const double gain = !first && kBusyMargin * measured_[best_].busy < best_ ? kWaitingGain : kGain;
  if (!first && work_per_s < gain * peak_) {
    return phase_ == Phase::kProbeUp ? probe_down(now) : begin_bisect(now);
  }
  best_ = limit_;
  peak_ = std::max(peak_, work_per_s);
  int32_t more = std::min(2 * limit_, most_);
  if (!may_try(now, more)) more = step_up(limit_);
  if (more <= limit_ || !may_try(now, more) || busy(trial_) < kBusyPart * limit_) {
    return begin_bisect(now);
  }
  begin_trial(now, Phase::kClimb, more);
}

// Requests that are worked on, as far as latencies tell. Two hints, and the higher one counts: how
// much of the latency comes with work, and how much slower than almost alone a request is. The
// first takes a fixed part of every answer for waiting, the second takes batching for waiting.
double ConcurrencyLimit::busy(const ThroughputEstimate& estimate) const {
  const auto alone =
      std::ranges::find_if(octaves_, [](const auto& of) { return of.answers() > 0; });
  const double all = estimate.in_flight_mean();
  if (alone == octaves_.end() || estimate.seconds_per_work() <= 0) return all;
  const double slowed = alone->seconds_per_work() / estimate.seconds_per_work();
  return std::max(estimate.busy(), std::min(all * slowed, all));
}

// The first answers are the short ones; after a few rounds of those that are worked on, no more.
bool ConcurrencyLimit::most_wait() const {
  const double working = busy(trial_);
  const double answers = std::max<double>(kTrialAnswersMin, kRounds * working);
  return static_cast<double>(trial_.answers()) >= answers && working < kBusyPart * limit_ &&
         ladder_ceil(kBusyMargin * working) < limit_;
}

// With so many in flight and none waiting for another, would it be as fast? A request is never
// answered faster beside more others, so the slowest pace of any smaller number is a bound.
bool ConcurrencyLimit::can_keep_up(int32_t limit) const {
  double seconds_per_work = 0;
  for (size_t i = 0; i < kOctaves && octave_end(i) <= limit; ++i) {
    const double margin = octaves_[i].answers() >= kAloneAnswers ? 1 : kFewMargin;
    seconds_per_work = std::max(seconds_per_work, octaves_[i].seconds_per_work() / margin);
  }
  for (const auto& [number, measured] : measured_) {
    if (number > limit) break;
    seconds_per_work = std::max(seconds_per_work, measured.seconds_per_work);
  }
  return limit >= kKeeps * peak_ * seconds_per_work;
}

bool ConcurrencyLimit::keeps(double work_per_s) const {
  const auto best = measured_.find(best_);
  const bool others_only_wait = best != measured_.end() && best->second.busy < limit_;
  return work_per_s >= (others_only_wait ? kWaitingKeeps : kKeeps) * peak_;
}

// Below the best, where to look first: as many as do not wait, if that is less; else nowhere.
int32_t ConcurrencyLimit::number_busy() const {
  const auto best = measured_.find(best_);
  if (best == measured_.end()) return best_;
  return std::min(ladder_ceil(kBusyRounding * best->second.busy), best_);
}

void ConcurrencyLimit::begin_bisect(TimePoint now) {
  too_few_ = 0;
  phase_ = Phase::kBisect;
  bisect(now);
}

void ConcurrencyLimit::bisect(TimePoint now) {
  for (int32_t n = step_up(too_few_); n < best_; n = step_up(n)) {
    if (!can_keep_up(n)) too_few_ = n;
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
  Measured& before = measured_[best_];
  const bool drifted = work_per_s > (1 + kDrift) * before.work_per_s ||
                       work_per_s < (1 - kDrift) * before.work_per_s;
  const Measured here{work_per_s, trial_.seconds_per_work(), trial_.latency_mean_s(), busy(trial_)};
  if (drifted) {
    // Nothing measured before is true any more.
    measured_.clear();
    octaves_ = {};
    best_ = 0;
    peak_ = 0;
    return begin_trial(now, Phase::kClimb, limit_);
  }
  before = here;
  finding_ = found(now);
  peak_ = std::max(work_per_s, kKeeps * peak_);
  if (now < look_at_) {
    trial_ = {};
    return;
  }
  octaves_ = {};  // long ago
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
  if (const auto here = measured_.find(best_); here != measured_.end()) {
    finding.work_per_s = here->second.work_per_s;
    finding.latency_s = here->second.latency_s;
    finding.busy = here->second.busy;
  }
  if (answers_one_at_a_time()) {
    finding.kind = ConcurrencyKind::kSerial;
  } else if (refused_at_ > 0 && step_up(best_) >= refused_at_ && now < refused_until_) {
    finding.kind = ConcurrencyKind::kRefuses;
  } else if (best_ >= most_) {
    finding.kind = ConcurrencyKind::kUnlimited;
  }
  return finding;
}

bool ConcurrencyLimit::answers_one_at_a_time() const {
  const auto best = measured_.find(best_);
  if (best_ > 1 && best_ <= kSerialMax && best != measured_.end() &&
      best->second.busy < kSerialBusy) {
    return true;
  }
  // Two in flight may hide the way there and back and still be answered one after the other.
  const auto one = measured_.find(1);
  if (best_ > 2 || one == measured_.end()) return false;
  return std::ranges::any_of(measured_, [&](const auto& entry) {
    const auto& [number, measured] = entry;
    return number > 1 &&
           measured.seconds_per_work >= kSerialSlowdown * number * one->second.seconds_per_work;
  });
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
  for (size_t i = 0; i < kOctaves && trial_.answers() < kTrialAnswersMin; ++i) {
    if (octaves_[i].answers() >= kAloneAnswers) known = &octaves_[i];
  }
  if (known->answers() >= kAloneAnswers) {
    finding.work_per_s = known->work_per_s();
    finding.latency_s = known->latency_mean_s();
    finding.busy = busy(*known);
  }
  return finding;
}

}  // namespace windrow::dispatch
