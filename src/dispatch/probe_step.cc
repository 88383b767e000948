#include "dispatch/probe_step.h"

#include <algorithm>

namespace windrow::dispatch {
namespace {

// The smallest latency that `share` of them do not exceed.
Duration quantile(std::vector<Duration> latencies, double share) {
  if (latencies.empty()) return {};
  const auto rank = static_cast<size_t>(share * static_cast<double>(latencies.size() - 1) + 0.5);
  const auto place = latencies.begin() + static_cast<std::ptrdiff_t>(rank);
  std::nth_element(latencies.begin(), place, latencies.end());
  return *place;
}

}  // namespace

ProbeStep::ProbeStep(const ProbeStepOptions& options, TimePoint begin)
    : options_(options),
      begin_(begin),
      warm_up_left_(std::max(options.in_flight, options.already)),
      from_(begin),
      to_(begin) {
  measured_.in_flight = options.in_flight;
}

int64_t ProbeStep::sent() {
  refusals_.sent();
  return static_cast<int64_t>(failures_.sent());
}

void ProbeStep::ended(const ProbeFlight& flight) {
  overloaded_ += flight.end == ProbeEnd::kOverloaded ? 1 : 0;
  failed_ += flight.end == ProbeEnd::kFailed ? 1 : 0;
  to_ = flight.ended;
  const bool answered = flight.end == ProbeEnd::kAnswered;
  // Both watches have the same tickets, so number 0 is none of theirs.
  const auto ticket = static_cast<RefusalWatch::Ticket>(flight.number);
  switch (flight.end) {
    case ProbeEnd::kAnswered:
      refusals_.answered(ticket);
      failures_.answered(ticket);
      break;
    case ProbeEnd::kOverloaded:
      measured_.refuses = refusals_.refused(ticket) || measured_.refuses;
      failures_.ended_otherwise(ticket);
      break;
    case ProbeEnd::kFailed:
      refusals_.ended_otherwise(ticket);
      fails_ = failures_.refused(ticket) || fails_;
      break;
  }
  const Duration latency = flight.ended - flight.sent;
  if (warm_up_left_ > 0) {
    if (--warm_up_left_ == 0) from_ = flight.ended;
    if (!answered) return;
    ++warm_up_answers_;
    warm_up_tokens_ += flight.tokens;
    warm_up_told_tokens_ += flight.tokens > 0 ? 1 : 0;
    warm_up_latencies_.push_back(latency);
    return;
  }
  measured_.overloaded += flight.end == ProbeEnd::kOverloaded ? 1 : 0;
  measured_.failed += flight.end == ProbeEnd::kFailed ? 1 : 0;
  if (!answered) return;
  ++measured_.answered;
  tokens_ += flight.tokens;
  told_tokens_ += flight.tokens > 0 ? 1 : 0;
  latencies_.push_back(latency);
}

bool ProbeStep::whole_rounds() const {
  return warm_up_left_ == 0 && counted() >= kProbeRequestsMin &&
         counted() % options_.in_flight == 0;
}

bool ProbeStep::over(TimePoint now) const {
  if (measured_.refuses || fails_) return true;
  if (now >= over_at_latest()) return true;
  if (!whole_rounds()) return false;
  const bool enough = options_.requests > 0 && counted() >= options_.requests;
  return enough || (options_.time > Duration{} && to_ - from_ >= options_.time);
}

ProbeMeasure ProbeStep::measure() const {
  ProbeMeasure measure = measured_;
  // Seen too little: what warmed up says something at least.
  const bool warm = measured_.answered > 0;
  const TimePoint from = warm ? from_ : begin_;
  const std::vector<Duration>& latencies = warm ? latencies_ : warm_up_latencies_;
  const int64_t tokens = warm ? tokens_ : warm_up_tokens_;
  const int64_t told = warm ? told_tokens_ : warm_up_told_tokens_;
  if (!warm) measure.answered = warm_up_answers_;
  // A refusal counts whenever it came.
  measure.overloaded = overloaded_;
  measure.failed = failed_;
  measure.time = to_ - from;
  measure.all_told_tokens = measure.answered > 0 && told == measure.answered;
  if (measure.time > Duration{}) {
    measure.requests_per_s = static_cast<double>(measure.answered) / seconds(measure.time);
    measure.tokens_per_s = static_cast<double>(tokens) / seconds(measure.time);
  }
  measure.latency_p50 = quantile(latencies, 0.5);
  measure.latency_p95 = quantile(latencies, 0.95);
  return measure;
}

}  // namespace windrow::dispatch
