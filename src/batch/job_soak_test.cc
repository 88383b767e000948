// Random jobs with random faults: in the end every row has exactly one line, the right one. With
// WINDROW_SOAK set, twenty times as many.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/testing/rounds.h"
#include "batch/testing/job_rig.h"
#include "batch/testing/pack.h"
#include "store/testing/faulty_disk.h"
#include "store/testing/memory_disk.h"

namespace windrow::batch {
namespace {

using store::testing::Faults;
using store::testing::FaultyDisk;
using store::testing::MemoryDisk;
using testing::echo;
using testing::entries_of;
using testing::Expected;
using testing::expected_of;
using testing::input_lines_of;
using testing::job_options;
using testing::JobOutcome;
using testing::JobRun;
using testing::row_line;
using testing::run_job;

std::string some_input(Random& random) {
  std::string input;
  const int64_t lines = random.between(0, 60);
  for (int64_t i = 0; i < lines; ++i) {
    switch (random.below(12)) {
      case 0:
        input += "\n";
        break;
      case 1:
        input += "rubbish\n";
        break;
      case 2:
        input += "{}\r\n";
        break;
      case 3:
        input += row_line(fmt::format("r{}", random.below(60)), fmt::format("bad {}", i));
        break;
      case 4:
        input += fmt::format("{{\"custom_id\":\"u{}\",\"url\":\"/v2\"}}\n", i);
        break;
      default:
        input += row_line(fmt::format("r{}", random.below(60)),
                          fmt::format("{} {}", i, std::string(random.below(200), 'x')));
    }
  }
  return input;
}

Faults some_faults(Random& random) {
  switch (random.below(8)) {
    case 0:
      return {.bytes_until_full = random.between(0, 20'000)};
    case 1:
      return {.appends_until_short = random.between(0, 10), .truncate_fails = random.chance(0.5)};
    case 2:
      return {.syncs_until_failure = random.between(0, 10)};
    case 3:
      return {.rename_fails = true};
    case 4:
      return {.sync_folder_fails = true};
    case 5:
    case 6:
      return {.operations_until_death = random.between(0, 40), .last_append_part = random.unit()};
    default:
      return {};
  }
}

// What else may happen to a run: a stop, a stop at once, or a lost backend, at the n-th answer.
enum class Event : uint8_t { kNone, kStop, kStopNow, kBackendLost };

void soak_one(uint64_t seed) {
  Random random(seed);
  const std::string input = some_input(random);
  const bool ordered = random.chance(0.3);
  MemoryDisk memory;

  for (int64_t faulty_runs = random.between(0, 5); faulty_runs > 0; --faulty_runs) {
    FaultyDisk disk(memory, some_faults(random));
    const auto event = static_cast<Event>(random.below(4));
    const int64_t event_at = random.between(1, 60);
    std::atomic<int64_t> answers = 0;
    JobRunner* runner = nullptr;
    JobRun job{.input = input, .options = job_options()};
    job.input_options = {.piece_bytes = static_cast<size_t>(random.between(1, 5000)),
                         .rereadable = random.chance(0.7)};
    if (random.chance(0.15)) job.input_options.fails_at = random.below(input.size() + 1);
    job.options.ordered = random.chance(0.5);
    job.options.grace = random.chance(0.5) ? Duration(0) : std::chrono::hours(1);
    if (random.chance(0.2)) job.options.rows_max = random.between(0, 60);
    job.options.retry_failed = random.chance(0.2);
    job.backend = {.rows_max = static_cast<int32_t>(random.between(1, 8)),
                   .order_seed = random.next()};
    job.before = [&](JobRunner& opened) { runner = &opened; };
    const uint64_t flaky = random.below(4);
    job.script = [&, event, event_at, flaky](const llm::Request& request) -> llm::Outcome {
      const int64_t number = ++answers;
      if (event == Event::kStop && number == event_at) runner->stop();
      if (event == Event::kStopNow && number == event_at) runner->stop_now();
      if (event == Event::kBackendLost && number >= event_at) {
        return llm::Failure{.failure_class = llm::FailureClass::kBackend, .status = 500};
      }
      // A failure that another attempt does not meet.
      if (flaky > 0 && number % static_cast<int64_t>(flaky + 1) == 0 &&
          !request.inputs.at(0).text.starts_with("bad")) {
        return llm::Failure{.failure_class = llm::FailureClass::kTransient, .status = 503};
      }
      return echo(request);
    };
    job.attempts_max = 1000;
    run_job(disk, job);
    if (random.chance(0.5)) memory.lose_power(random);
  }

  JobRun last{.input = input, .options = job_options()};
  last.options.ordered = ordered;
  last.backend = {.rows_max = 4, .order_seed = seed};
  const JobOutcome outcome = run_job(memory, last);
  ASSERT_TRUE(outcome.completed()) << "seed " << seed << ": " << outcome.error();
  const Expected expected = expected_of(input);
  ASSERT_EQ(entries_of(memory.get("r.jsonl")), expected.results) << "seed " << seed;
  ASSERT_EQ(entries_of(memory.get("r.errors.jsonl")), expected.errors) << "seed " << seed;
  ASSERT_EQ(outcome.counters->rows_done(), outcome.counters->rows_total) << "seed " << seed;
  if (ordered) {
    const std::vector<int64_t> order = input_lines_of(memory.get("r.jsonl"));
    ASSERT_TRUE(std::is_sorted(order.begin(), order.end())) << "seed " << seed;
  }
  // And nothing is left to do.
  const std::string results = memory.get("r.jsonl");
  ASSERT_EQ(run_job(memory, last).submitted, 0) << "seed " << seed;
  ASSERT_EQ(memory.get("r.jsonl"), results) << "seed " << seed;
}

TEST(JobSoak, WhateverHappensEveryRowHasOneLineInTheEnd) {
  const uint64_t jobs = windrow::testing::rounds(uint64_t{250}, uint64_t{5'000});
  for (uint64_t seed = 0; seed < jobs; ++seed) {
    soak_one(seed);
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace windrow::batch
