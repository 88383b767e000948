// Servers that stumble: 800 rows at a server with 8 slots that refuses, fails or breaks off a share
// of its requests, and at servers that really have too much to do. Everything is the program's own
// but time and the sockets, so a job of many seconds is simulated in a few milliseconds, and rates
// are exact.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/testing/manual_clock.h"
#include "dispatch/dispatcher.h"
#include "dispatch/testing/manual_waker.h"
#include "dispatch/testing/raw_rows.h"
#include "sim_upstream/simulated_upstream.h"
#include "upstream/upstream_backend.h"
#include "upstreams/simulated_network.h"

namespace windrow {
namespace {

using std::chrono::microseconds;
using std::chrono::minutes;

constexpr int kRows = 800;
constexpr int32_t kSlots = 8;

// As windrow run has it for one server.
constexpr int32_t kRowsWaiting = 64;
constexpr Duration kBackoff = std::chrono::seconds(1);

sim_upstream::SimOptions stumbling_server(const std::vector<std::string>& faults) {
  sim_upstream::SimOptions sim;
  sim.slots = kSlots;
  sim.token_time = microseconds(3500);
  sim.limit_headers = sim_upstream::LimitHeaders::kNone;
  for (const std::string& fault : faults)
    sim.faults.push_back(*sim_upstream::parse_fault(fault));
  return sim;
}

struct JobOptions {
  int32_t concurrency = 0;  // fixed; 0: found
  Duration request_timeout = minutes(10);
  int32_t calls_max = 0;       // DispatchOptions
  size_t connections_max = 0;  // for which there are files; 0: any number
};

// One job on a clock of its own.
class StumbledJob {
 public:
  StumbledJob(sim_upstream::SimOptions server, JobOptions options)
      : network_(clock_, std::move(server), options.connections_max),
        backend_(network_, clock_,
                 {.base = upstream::with_version(*http::parse_url("http://server")),
                  .request_timeout = options.request_timeout}),
        dispatcher_({{.backend = &backend_,
                      .concurrency = dispatch::ConcurrencyOptions{.fixed = options.concurrency}}},
                    {.waiting_max = kRowsWaiting,
                     .backoff_base = kBackoff,
                     .calls_max = options.calls_max,
                     .on_calls_max = [this] { ++told_of_calls_max_; }},
                    clock_, waker_) {}

  ~StumbledJob() {
    dispatcher_.stop_admitting();
    dispatcher_.cancel_all();
    while (dispatcher_.in_flight() > 0 && step()) {
    }
  }
  StumbledJob(const StumbledJob&) = delete;
  StumbledJob& operator=(const StumbledJob&) = delete;

  // Until all rows have ended, or then.
  void run(Duration until = minutes(60)) {
    do {
      while (submitted_ < kRows && submit()) {
      }
    } while (answered_ + failed_ < kRows && clock_.now() < TimePoint{} + until && step());
  }

  double rows_per_s() const { return answered_ / seconds(ended_at_ - TimePoint{}); }
  int answered() const { return answered_; }
  int failed() const { return failed_; }
  int32_t attempts_max() const { return attempts_max_; }  // of any row
  int told_of_calls_max() const { return told_of_calls_max_; }
  dispatch::UpstreamReading reading() const { return dispatcher_.readings().front(); }
  const sim_upstream::SimStats& stats() const { return network_.server().stats(); }

  int64_t refused() const {
    int64_t sum = 0;
    for (const auto& [status, count] : stats().answered)
      sum += status == 200 ? 0 : count;
    return sum;
  }

 private:
  bool submit() {
    llm::Request request = dispatch::testing::raw_row(
        llm::Endpoint::kChatCompletions,
        fmt::format(R"({{"model":"sim","messages":[{{"role":"user","content":"question {}"}}]}})",
                    submitted_));
    const dispatch::WorkItem item = dispatch::testing::item_of(request);
    const auto accepted = dispatcher_.offer(
        std::move(request), item, 0, [this](const dispatch::DispatchResult& result) {
          ++(std::holds_alternative<llm::Answer>(result.outcome) ? answered_ : failed_);
          attempts_max_ = std::max(attempts_max_, result.attempts);
          ended_at_ = clock_.now();
        });
    submitted_ += accepted ? 1 : 0;
    return accepted.has_value();
  }

  bool step() {
    const std::optional<TimePoint> network = network_.next_time();
    const std::optional<TimePoint> waker = waker_.at();
    if (waker && (!network || *waker <= *network)) return waker_.jump();
    if (!network) return false;
    if (*network > clock_.now()) clock_.advance(*network - clock_.now());
    network_.run_due();
    return true;
  }

  testing::ManualClock clock_;
  dispatch::testing::ManualWaker waker_{clock_};
  testing::SimulatedNetwork network_;
  upstream::UpstreamBackend backend_;
  int submitted_ = 0;
  int answered_ = 0;
  int failed_ = 0;
  int32_t attempts_max_ = 0;
  int told_of_calls_max_ = 0;
  TimePoint ended_at_{};
  dispatch::Dispatcher dispatcher_;
};

double rate_with(const std::vector<std::string>& faults, uint64_t seed, JobOptions options = {}) {
  sim_upstream::SimOptions server = stumbling_server(faults);
  server.seed = seed;
  StumbledJob job(server, options);
  job.run();
  EXPECT_EQ(job.answered() + job.failed(), kRows);
  return job.rows_per_s();
}

class StumblingTargets : public ::testing::TestWithParam<int32_t> {};

// Targets are shares of the rate without faults, whatever number of calls is in flight.
TEST_P(StumblingTargets, AreReached) {
  struct Target {
    std::string fault;
    double share;
  };
  const JobOptions options{.concurrency = GetParam()};
  for (const uint64_t seed : {1U, 2U, 3U}) {
    const double clean = rate_with({}, seed, options);
    for (const Target& target :
         {Target{"429=0.02", 0.8}, Target{"5xx=0.1", 0.7}, Target{"5xx=0.2", 0.5}}) {
      EXPECT_GE(rate_with({target.fault}, seed, options), target.share * clean)
          << target.fault << ", seed " << seed << ", clean " << clean;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, StumblingTargets, ::testing::Values(0, kSlots));

struct Stumble {
  std::string_view name;
  std::vector<std::string_view> kinds;  // each strikes its part of the share
  sim_upstream::LimitHeaders headers = sim_upstream::LimitHeaders::kNone;
  Duration request_timeout = minutes(10);
};

TEST(Stumbling, SweepOfKindsAndShares) {
  constexpr std::array kShares = {0.01, 0.02, 0.05, 0.1, 0.2};
  const std::vector<Stumble> kinds = {
      {.name = "reset", .kinds = {"reset"}},
      {.name = "429", .kinds = {"429"}},
      {.name = "429, Retry-After: 1",
       .kinds = {"429"},
       .headers = sim_upstream::LimitHeaders::kRetryAfter},
      {.name = "500", .kinds = {"500"}},
      {.name = "502", .kinds = {"502"}},
      {.name = "503", .kinds = {"503"}},
      {.name = "a mix", .kinds = {"reset", "429", "5xx", "truncated"}},
      {.name = "no answer in 1 s", .kinds = {"stall"}, .request_timeout = std::chrono::seconds(1)}};
  const double clean = rate_with({}, 1);
  fmt::print("rows/s relative to {:.1f} without faults; {} rows, {} slots\n{:22}", clean, kRows,
             kSlots, "");
  for (const double share : kShares)
    fmt::print("{:>7.0f} %", 100 * share);
  fmt::print("\n");
  for (const Stumble& kind : kinds) {
    fmt::print("{:22}", kind.name);
    for (const double share : kShares) {
      std::vector<std::string> faults;
      for (const std::string_view one : kind.kinds)
        faults.push_back(fmt::format("{}={}", one, share / static_cast<double>(kind.kinds.size())));
      sim_upstream::SimOptions server = stumbling_server(faults);
      server.limit_headers = kind.headers;
      StumbledJob job(server, {.request_timeout = kind.request_timeout});
      job.run();
      const double relative = job.rows_per_s() / clean;
      fmt::print("{:>9.2f}", relative);
      // No answer until the time is up is the server's own slowness, and so is a pause it asks for.
      const bool is_slow = kind.request_timeout < minutes(1) ||
                           kind.headers == sim_upstream::LimitHeaders::kRetryAfter;
      if (!is_slow) {
        EXPECT_GE(relative, share <= 0.1 ? 0.7 : 0.5) << kind.name << " " << share;
      }
      EXPECT_NE(job.reading().finding.kind, dispatch::ConcurrencyKind::kSerial)
          << kind.name << " " << share;
      EXPECT_GE(job.answered(), kRows * 95 / 100);
    }
    fmt::print("\n");
  }
}

// --- servers that really have too much to do ----------------------------------------------------

// It takes 8 at a time and refuses the rest.
TEST(Stumbling, AServerWithoutAQueueIsFoundWithinSecondsAndNotHammered) {
  for (const uint64_t seed : {1U, 2U, 3U}) {
    sim_upstream::SimOptions server = stumbling_server({});
    const double clean = rate_with({}, seed);
    server.queue_max = 0;
    server.seed = seed;
    StumbledJob job(server, {});
    job.run(std::chrono::seconds(4));
    EXPECT_LE(job.reading().in_flight_max, 2 * kSlots);
    const int64_t refused = job.refused();
    EXPECT_LE(refused, 30);
    job.run();
    fmt::print("no queue, seed {}: {:.2f} of the rate, {} refused in 4 s, then {}; {}\n", seed,
               job.rows_per_s() / clean, refused, job.refused() - refused,
               dispatch::to_string(job.reading().finding));
    EXPECT_EQ(job.answered(), kRows);
    EXPECT_GE(job.rows_per_s(), 0.8 * clean);
    EXPECT_LE(job.refused() - refused, kRows / 10);
  }
}

TEST(Stumbling, AServerThatRefusesEverythingIsAskedSeldom) {
  StumbledJob job(stumbling_server({"503=1"}), {});
  job.run(minutes(1));
  EXPECT_EQ(job.answered(), 0);
  fmt::print("refuses everything: {} requests in a minute\n", job.stats().requests);
  EXPECT_LE(job.stats().requests, 40);
}

// A minute's worth at once, then ten a second; the refusals say when, or do not.
TEST(Stumbling, ARateLimitIsKeptTo) {
  for (const auto headers :
       {sim_upstream::LimitHeaders::kNone, sim_upstream::LimitHeaders::kRetryAfter}) {
    sim_upstream::SimOptions server = stumbling_server({});
    server.requests_per_minute = 600;
    server.limit_headers = headers;
    StumbledJob job(server, {});
    job.run();
    fmt::print("600 requests a minute: {:.1f} rows/s, {} refused\n", job.rows_per_s(),
               job.refused());
    EXPECT_EQ(job.answered(), kRows);
    EXPECT_LE(job.refused(), kRows / 2);
  }
}

// --- files for fewer connections than the server takes -------------------------------------------

// 64 slots, and files for a part of them: each row goes to the server once, the server counts as
// well all the time, and what there are connections for is used.
TEST(Stumbling, AShortageOfFilesCostsNoRowAndNoServer) {
  for (const int32_t concurrency : {64, 0}) {
    for (const size_t connections : {1U, 12U, 30U}) {
      sim_upstream::SimOptions server = stumbling_server({});
      server.slots = 64;
      StumbledJob job(server, {.concurrency = concurrency, .connections_max = connections});
      job.run();
      EXPECT_EQ(job.answered(), kRows);
      EXPECT_EQ(job.attempts_max(), 1) << "nobody heard of the others";
      EXPECT_EQ(job.stats().requests, kRows);
      EXPECT_EQ(job.reading().health, dispatch::Health::kGood);

      server.slots = static_cast<int32_t>(connections);
      StumbledJob alone(server, {.concurrency = server.slots});
      alone.run();
      fmt::print("files for {} connections, {}: {:.2f} of the rate\n", connections,
                 concurrency > 0 ? "fixed" : "found", job.rows_per_s() / alone.rows_per_s());
      if (concurrency > 0) {
        EXPECT_GE(job.rows_per_s(), 0.85 * alone.rows_per_s()) << connections;
      }
    }
  }
}

TEST(Stumbling, TheLimitOfCallsIsKeptToAndToldOnce) {
  sim_upstream::SimOptions server = stumbling_server({});
  server.slots = 64;
  for (const int32_t concurrency : {64, 0}) {
    StumbledJob job(server, {.concurrency = concurrency, .calls_max = 10, .connections_max = 10});
    job.run();
    EXPECT_EQ(job.answered(), kRows);
    EXPECT_EQ(job.stats().requests, kRows) << "no call was without a file";
    EXPECT_EQ(job.told_of_calls_max(), 1);
    EXPECT_LE(job.reading().in_flight_max, 10);
  }
  StumbledJob job(stumbling_server({}), {.concurrency = 8, .calls_max = 9});
  job.run();
  EXPECT_EQ(job.told_of_calls_max(), 0);
}

}  // namespace
}  // namespace windrow
