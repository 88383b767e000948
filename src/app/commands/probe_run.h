// ProbeRun: what `windrow probe` measures. It runs a dispatch::ConcurrencyLimit, as every job does,
// with as many requests in flight as the limit allows, and keeps what each number came to; the
// finding is the limit's. For numbers that were given it measures each of them instead and compares
// them. Pure: the command sends requests and reports how they ended. Used by one thread at a time.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "dispatch/concurrency_limit.h"
#include "dispatch/refusal_watch.h"
#include "dispatch/throughput.h"

namespace windrow::app {

struct ProbeRunOptions {
  std::vector<int32_t> in_flight;  // exactly these, in this order; empty: search
  int32_t in_flight_max = 128;     // of a search

  // A given number is measured until so many requests have ended, at least kProbeRequestsMin, or
  // for so long; 0: not by that.
  int64_t requests_each = 0;
  Duration time_each = std::chrono::seconds(8);

  // A number that takes longer ends: the next one follows, and a search is over.
  Duration time_max = std::chrono::seconds(80);
};

constexpr int64_t kProbeRequestsMin = 3;

enum class ProbeEnd : uint8_t {
  kAnswered,
  kOverloaded,  // 429, 503 or no answer in time
  kFailed,      // another way
};

// What one number of requests in flight came to. Rates and latencies are 0 where nothing was
// answered.
struct ProbeMeasure {
  int32_t in_flight = 1;
  int64_t answered = 0;
  int64_t overloaded = 0;
  int64_t failed = 0;
  bool refuses = false;  // so many were overloaded that it is too many (RefusalWatch)
  Duration time{};       // that it was measured
  double requests_per_s = 0;
  double tokens_per_s = 0;
  bool all_told_tokens = false;  // every answer said how many tokens it has
  Duration latency_p50{};
  Duration latency_p95{};

  // What two numbers in flight are compared by.
  double work_per_s() const { return all_told_tokens ? tokens_per_s : requests_per_s; }
};

enum class ProbeFindingKind : uint8_t {
  kNothing,    // no answer at all
  kOne,        // only one number was measured: nothing to compare it with
  kSerial,     // it answers one request at a time
  kSaturates,  // more than `in_flight` bring nothing
  kRefuses,    // more than `in_flight` are refused
  kGrows,      // the largest number measured still brought more
};

struct ProbeFinding {
  ProbeFindingKind kind = ProbeFindingKind::kNothing;
  int32_t in_flight = 0;     // to work with; 0: none is known
  int32_t refused_at = 0;    // the fewest that were too many; 0: none was
  double gain = 0;           // in work per second, over one in flight; 0: that was not measured
  bool interrupted = false;  // there was more to measure
};

std::string_view to_string(ProbeFindingKind kind);

// The fewest in flight that do about as much as any of these.
ProbeFinding compare(std::span<const ProbeMeasure> measures);

class ProbeRun {
 public:
  ProbeRun(ProbeRunOptions options, TimePoint now);

  // How many requests are to be in flight. 0: it is over.
  int32_t limit() const { return over_ ? 0 : number_; }
  bool is_over() const { return over_; }

  // A request goes out. Returns its name for ended().
  int64_t sent(TimePoint now);

  // In the order of their ends. `tokens`: generated; of a call that generates none, read; 0: not
  // told.
  void ended(TimePoint now, int64_t request, ProbeEnd end, int64_t tokens = 0);

  // Time alone may end a number, or raise the limit.
  TimePoint wake_at() const;
  void wake(TimePoint now);

  // It ends before all is known. What the present number came to counts if it was measured.
  void stop(TimePoint now);

  // The numbers that were left since the last call, as they stand now. A search may come back to a
  // number.
  std::vector<ProbeMeasure> take_left();

  // All that were measured: of a search by number, else in the order given.
  std::vector<ProbeMeasure> measures() const;

  ProbeFinding finding() const;

 private:
  // One number in flight.
  struct Tally {
    ProbeMeasure counts;  // without its rates and latencies
    int64_t tokens = 0;
    int64_t told_tokens = 0;  // answers that said how many they have

    // Of requests that were sent while as many were in flight.
    int64_t full_ends = 0;
    dispatch::ThroughputEstimate requests;
    dispatch::ThroughputEstimate work;
    std::vector<Duration> latencies;

    std::vector<Duration> early_latencies;  // of the others
  };

  struct Flight {
    TimePoint sent;
    int32_t in_flight = 1;  // itself included
    int32_t visit = 0;
    dispatch::RefusalWatch::Ticket ticket = 0;
  };

  bool searches() const { return options_.in_flight.empty(); }
  static ProbeMeasure measure_of(const Tally& tally);
  void count(TimePoint now, const Flight& flight, ProbeEnd end, int64_t tokens);
  bool notice_overload(const Flight& flight, ProbeEnd end);
  bool is_measured(TimePoint now) const;
  static bool is_known(const Tally& tally);
  void confirm_next(TimePoint now);
  void advance(TimePoint now);
  void visit(TimePoint now, int32_t number);
  void leave(TimePoint now);

  const ProbeRunOptions options_;
  std::optional<dispatch::ConcurrencyLimit> limit_;    // of the search, or of one given number
  std::optional<dispatch::ConcurrencyFinding> found_;  // by the search; smaller ones are confirmed
  dispatch::RefusalWatch refusals_;
  dispatch::RefusalWatch failures_;  // the same, of requests that failed in another way
  bool fails_ = false;               // most of them do

  std::map<int32_t, Tally> tallies_;
  std::vector<int32_t> order_;  // of their first visits
  std::vector<int32_t> left_;   // since take_left()

  int32_t number_ = 1;  // in flight at the moment
  int32_t visits_ = 0;  // of numbers, so far
  TimePoint visit_since_{};

  std::map<int64_t, Flight> flights_;
  int64_t requests_ = 0;
  bool over_ = false;
};

}  // namespace windrow::app
