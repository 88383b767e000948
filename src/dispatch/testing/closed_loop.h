// ClosedLoop: a job that always has another row, a ConcurrencyLimit with its RefusalWatch, and a
// ModelUpstream, on a fake clock.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>

#include "base/clock.h"
#include "base/random.h"
#include "dispatch/concurrency_limit.h"
#include "dispatch/refusal_watch.h"
#include "dispatch/testing/model_upstream.h"

namespace windrow::dispatch::testing {

enum class Lengths : uint8_t { kEqual, kUniform, kExponential };

class ClosedLoop {
 public:
  ClosedLoop(ModelUpstreamOptions upstream, ConcurrencyOptions limit, Lengths lengths,
             double work_mean, uint64_t seed)
      : limit_(limit),
        upstream_(upstream, seed),
        random_(seed + 1),
        lengths_(lengths),
        work_mean_(work_mean) {}

  void run_until(double end_s) {
    while (now_s_ < end_s) {
      fill();
      double until_s = end_s;
      if (const auto reply = upstream_.next_reply_s()) {
        until_s = std::min(until_s, now_s_ + *reply);
      }
      if (pause_every_s > 0) until_s = std::min(until_s, next_pause_or_end());
      if (const auto wake = limit_.wake_at()) until_s = std::min(until_s, seconds(*wake - start_));
      until_s = std::max(until_s, now_s_);
      const auto replies = upstream_.advance(until_s - now_s_);
      now_s_ = until_s;
      for (const ModelReply& reply : replies)
        ended(reply);
      limit_.wake(now());
      if (replies.empty() && !limit_.wake_at() && until_s >= end_s) return;
    }
  }

  // Work done from now until then, per second.
  double work_per_s_until(double end_s) {
    const double begin_s = now_s_;
    const double before = upstream_.work_done();
    run_until(end_s);
    return (upstream_.work_done() - before) / (end_s - begin_s);
  }

  ConcurrencyLimit& limit() { return limit_; }
  ModelUpstream& upstream() { return upstream_; }
  int64_t refused() const { return refused_; }
  int64_t answered() const { return answered_; }

  // Rows there are to send at a time; above the limit by default.
  int32_t rows_max = 1'000'000;

  // Each so often nothing is sent for a while; 0: never.
  double pause_every_s = 0;
  double pause_s = 0;

 private:
  TimePoint now() const { return at(now_s_); }
  TimePoint at(double s) const {
    return start_ + std::chrono::duration_cast<Duration>(std::chrono::duration<double>(s));
  }

  double draw_work() {
    switch (lengths_) {
      case Lengths::kEqual:
        return work_mean_;
      case Lengths::kUniform:
        return work_mean_ * (0.2 + 1.6 * random_.unit());
      case Lengths::kExponential:
        return work_mean_ * (0.05 - 0.95 * std::log(1 - random_.unit()));
    }
    return work_mean_;
  }

  bool is_paused() const { return now_s_ < paused_until_s_; }

  double next_pause_or_end() const { return is_paused() ? paused_until_s_ : next_pause_s_; }

  void begin_pause_when_due() {
    if (pause_every_s == 0 || is_paused() || now_s_ < next_pause_s_) return;
    if (next_pause_s_ > 0) {
      paused_until_s_ = now_s_ + pause_s;
      limit_.paused(at(paused_until_s_));
    }
    next_pause_s_ = now_s_ + pause_s + pause_every_s;
  }

  void fill() {
    begin_pause_when_due();
    if (is_paused()) return;
    while (std::ssize(flights_) < std::min(limit_.limit(), rows_max)) {
      const uint64_t id = next_id_++;
      const double work = draw_work();
      const auto in_flight = static_cast<int32_t>(flights_.size()) + 1;
      flights_[id] = {.sent = now(), .in_flight = in_flight, .work = work};
      tickets_[id] = watch_.sent();
      limit_.sent(now(), in_flight);
      upstream_.send(id, work);
    }
  }

  void ended(const ModelReply& reply) {
    Flight flight = flights_.at(reply.id);
    flights_.erase(reply.id);
    flight.ended = now();
    const RefusalWatch::Ticket ticket = tickets_.extract(reply.id).mapped();
    if (!reply.refused) watch_.answered(ticket);
    const bool overloaded = reply.refused && watch_.refused(ticket);
    flight.end = overloaded      ? FlightEnd::kOverloaded
                 : reply.refused ? FlightEnd::kRefused
                                 : FlightEnd::kAnswered;
    ++(reply.refused ? refused_ : answered_);
    // No client sends a refused request again at once.
    if (reply.refused) now_s_ += 1e-3;
    limit_.ended(flight);
  }

  ConcurrencyLimit limit_;
  RefusalWatch watch_;
  ModelUpstream upstream_;
  Random random_;
  const Lengths lengths_;
  const double work_mean_;
  const TimePoint start_{std::chrono::seconds(1000)};
  double now_s_ = 0;
  double next_pause_s_ = 0;
  double paused_until_s_ = 0;
  uint64_t next_id_ = 1;
  std::map<uint64_t, Flight> flights_;
  std::map<uint64_t, RefusalWatch::Ticket> tickets_;
  int64_t refused_ = 0;
  int64_t answered_ = 0;
};

}  // namespace windrow::dispatch::testing
