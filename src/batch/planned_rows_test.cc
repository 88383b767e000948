#include "batch/planned_rows.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/random.h"
#include "batch/testing/job_rig.h"
#include "batch/testing/memory_input.h"
#include "dispatch/submitter.h"
#include "store/testing/memory_disk.h"
#include "store/testing/temporary_folder.h"

namespace windrow::batch {
namespace {

using testing::echo;
using testing::entries_of;
using testing::expected_of;
using testing::job_options;
using testing::JobOutcome;
using testing::row_line;
using testing::run_job;

// The name's first letter is the beginning of its prompt, twice as long as it has to be.
Row row(const std::string& name) {
  Row made;
  made.key.custom_id = name;
  made.request.endpoint = llm::Endpoint::kCompletions;
  made.request.inputs = {{.text = std::string(2 * kPromptBlockBytes, name[0]) + name}};
  made.bytes = 100;
  return made;
}

std::string pop_name(PlannedRows& rows) {
  const std::optional<Row> popped = rows.pop();
  return popped ? popped->key.custom_id : "nothing";
}

std::vector<std::string> pop_all(PlannedRows& rows) {
  std::vector<std::string> names;
  while (const std::optional<Row> popped = rows.pop())
    names.push_back(popped->key.custom_id);
  return names;
}

using Names = std::vector<std::string>;

TEST(PlannedRows, TheFirstRowWaitsUntilTheLookAheadIsFull) {
  PlannedRows rows({.rows_max = 4});
  std::jthread taker([&] { EXPECT_EQ(pop_all(rows), (Names{"a1", "a2", "b1", "b2", "c"})); });
  for (const char* name : {"a1", "b1", "a2", "b2", "c"})
    EXPECT_TRUE(rows.push(row(name)));
  rows.close();
}

TEST(PlannedRows, OrUntilItIsFullOfBytes) {
  PlannedRows rows({.bytes_max = 2'600});  // about four rows
  std::jthread taker([&] { EXPECT_EQ(pop_all(rows), (Names{"a1", "a2", "b1", "b2", "c"})); });
  for (const char* name : {"a1", "b1", "a2", "b2", "c"})
    EXPECT_TRUE(rows.push(row(name)));
  rows.close();
}

TEST(PlannedRows, OrUntilTheReaderHasToWait) {
  PlannedRows rows;
  for (const char* name : {"a1", "b1", "a2", "b2"})
    EXPECT_TRUE(rows.push(row(name)));
  rows.release();
  EXPECT_EQ(pop_name(rows), "a1");
  EXPECT_EQ(pop_name(rows), "a2");
  // From then on rows go as they come.
  EXPECT_EQ(pop_name(rows), "b1");
  EXPECT_EQ(pop_name(rows), "b2");
  EXPECT_TRUE(rows.push(row("c")));
  EXPECT_EQ(pop_name(rows), "c");
}

TEST(PlannedRows, AWaitBeforeTheFirstRowSaysNothing) {
  PlannedRows rows({.rows_max = 4});
  rows.release();
  std::jthread taker([&] { EXPECT_EQ(pop_all(rows), (Names{"a1", "a2", "b1", "b2"})); });
  for (const char* name : {"a1", "b1", "a2", "b2"})
    EXPECT_TRUE(rows.push(row(name)));
  rows.close();
}

TEST(PlannedRows, OrUntilManyLinesWerePassedOver) {
  PlannedRows rows({.rows_max = 4});
  EXPECT_TRUE(rows.push(row("a")));
  for (int i = 0; i < 3; ++i)
    rows.pass_over();
  EXPECT_EQ(pop_name(rows), "a");
}

TEST(PlannedRows, AFullOneMakesTheReaderWait) {
  PlannedRows rows({.rows_max = 1});
  EXPECT_TRUE(rows.push(row("a")));
  std::atomic<bool> popped = false;
  std::jthread reader([&] {
    EXPECT_TRUE(rows.push(row("b")));
    EXPECT_TRUE(popped);
  });
  popped = true;
  EXPECT_EQ(pop_name(rows), "a");
  EXPECT_EQ(pop_name(rows), "b");
}

TEST(PlannedRows, ARowAboveTheBoundPassesAlone) {
  PlannedRows rows({.bytes_max = 1});
  std::jthread reader([&] {
    EXPECT_TRUE(rows.push(row("a")));
    EXPECT_TRUE(rows.push(row("b")));
    rows.close();
  });
  EXPECT_EQ(pop_all(rows), (Names{"a", "b"}));
}

TEST(PlannedRows, CloseWakesEverybodyAndKeepsWhatIsInside) {
  PlannedRows rows({.rows_max = 1});
  EXPECT_TRUE(rows.push(row("a")));
  std::jthread reader([&] { EXPECT_FALSE(rows.push(row("b"))); });
  rows.close();
  reader.join();
  EXPECT_EQ(pop_name(rows), "a");
  EXPECT_EQ(pop_name(rows), "nothing");
  EXPECT_FALSE(rows.push(row("c")));

  PlannedRows empty;
  std::jthread taker([&] { EXPECT_EQ(pop_name(empty), "nothing"); });
  empty.close();
}

TEST(PlannedRows, ManyMakersAndTakersLoseNothing) {
  PlannedRows rows({.rows_max = 16});
  std::atomic<int> taken = 0;
  {
    const auto take = [&] {
      while (rows.pop())
        ++taken;
    };
    const auto make = [&] {
      for (int i = 0; i < 1'000; ++i)
        EXPECT_TRUE(rows.push(row(fmt::format("{}", i % 7))));
    };
    const std::jthread takers[] = {std::jthread(take), std::jthread(take), std::jthread(take)};
    {
      const std::jthread makers[] = {std::jthread(make), std::jthread(make), std::jthread(make)};
    }
    rows.close();
  }
  EXPECT_EQ(taken, 3'000);
}

// --- in a job ---------------------------------------------------------------------------------

std::string group_line(int group, int number) {
  return row_line(fmt::format("{}-{}", group, number),
                  fmt::format("{:064} asks {}", group, number));
}

// Of the prompts in the order in which they reached the backend.
std::vector<std::string> submitted_prompts(const std::string& input, JobOutcome& outcome) {
  std::vector<std::string> prompts;  // on the backend's thread alone
  store::testing::MemoryDisk disk;
  outcome = run_job(disk, {.input = input, .script = [&](const llm::Request& request) {
                             prompts.push_back(request.inputs.at(0).text);
                             return echo(request);
                           }});
  EXPECT_TRUE(outcome.completed()) << outcome.error();
  EXPECT_EQ(entries_of(disk.get("r.jsonl")), expected_of(input).results);
  return prompts;
}

JobOutcome no_outcome() {
  return {.result = Error{}, .start = {}, .submitted = 0, .counters = nullptr};
}

TEST(PlannedJob, AShuffledFileOfGroupsReachesTheBackendGrouped) {
  constexpr int kGroups = 60;
  constexpr int kRows = 20;
  std::vector<std::string> lines;
  for (int group = 0; group < kGroups; ++group) {
    for (int number = 0; number < kRows; ++number)
      lines.push_back(group_line(group, number));
  }
  Random random(7);
  for (size_t i = lines.size(); i > 1; --i)
    std::swap(lines[i - 1], lines[random.below(i)]);
  std::string input;
  for (const std::string& line : lines)
    input += line;

  JobOutcome outcome = no_outcome();
  const std::vector<std::string> prompts = submitted_prompts(input, outcome);
  ASSERT_EQ(prompts.size(), size_t{kGroups} * kRows);
  int begun = 0;
  std::string last;
  for (const std::string& prompt : prompts) {
    const std::string group = prompt.substr(0, 64);
    if (group != last) ++begun;
    last = group;
  }
  EXPECT_EQ(begun, kGroups);
  EXPECT_EQ(outcome.counters->rows_queued, 0);
}

TEST(PlannedJob, WhereNothingIsSharedTheFileIsFollowed) {
  std::string input;
  std::vector<std::string> expected;
  for (int i = 0; i < 500; ++i) {
    expected.push_back(fmt::format("{} of many", i * 7919 % 1'000'003));
    input += row_line(fmt::format("r{}", i), expected.back());
  }
  JobOutcome outcome = no_outcome();
  EXPECT_EQ(submitted_prompts(input, outcome), expected);
}

// Answers every row at once, and keeps what the job says of it.
class ItemRecorder final : public dispatch::Submitter {
 public:
  bool submit(llm::Request request, dispatch::WorkItem item, dispatch::Cost, Done done) override {
    items.push_back(item);
    done({.outcome = echo(request)});
    return true;
  }

  void stop_admitting() override {}
  void cancel_waiting() override {}
  void cancel_all() override {}

  std::vector<dispatch::WorkItem> items;
};

TEST(PlannedJob, RowsWithACommonPrefixAreOneGroupForTheDispatcher) {
  testing::MemoryInput input(group_line(1, 1) + row_line("alone", "short") + group_line(1, 2));
  store::testing::MemoryDisk disk;
  windrow::testing::ManualClock clock;
  JobCounters counters;
  auto runner =
      JobRunner::open(job_options(), {.disk = disk, .clock = clock, .input = input}, counters);
  ASSERT_TRUE(runner.has_value());
  ItemRecorder recorder;
  const std::vector<ModelRoute> routes{{"m", &recorder}};
  ASSERT_TRUE((*runner)->run(routes, {}).has_value());
  ASSERT_EQ(recorder.items.size(), 3U);
  EXPECT_NE(recorder.items[0].group, 0U);
  EXPECT_EQ(recorder.items[1].group, recorder.items[0].group);
  EXPECT_EQ(recorder.items[2].group, 0U);
  EXPECT_GT(recorder.items[0].tokens, recorder.items[2].tokens);
}

// Each row is answered before the next is typed.
TEST(PlannedJob, ARowThatIsTypedStartsAtOnce) {
  const store::testing::TemporaryFolder folder;
  const std::string path = folder / "pipe";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  const int keyboard = open(path.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_GE(keyboard, 0);
  auto input = open_input(path);
  ASSERT_TRUE(input.has_value());

  store::testing::MemoryDisk disk;
  windrow::testing::ManualClock clock;
  llm::testing::ScriptedBackend backend(echo);
  dispatch::Dispatcher dispatcher(backend, {});
  JobCounters counters;
  auto runner =
      JobRunner::open(job_options(), {.disk = disk, .clock = clock, .input = **input}, counters);
  ASSERT_TRUE(runner.has_value());
  Result<JobReport> result = Error{};
  std::thread job([&] {
    const std::vector<ModelRoute> routes{{"m", &dispatcher}};
    result = (*runner)->run(routes, {});
  });
  std::string typed;
  for (int i = 1; i <= 5; ++i) {
    const std::string line = group_line(1, i);
    ASSERT_EQ(write(keyboard, line.data(), line.size()), static_cast<ssize_t>(line.size()));
    typed += line;
    backend.wait_for_submitted(i);
    while (counters.rows_succeeded < i)
      std::this_thread::yield();
  }
  close(keyboard);
  job.join();
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->end, JobEnd::kCompleted);
  EXPECT_EQ(entries_of(disk.get("r.jsonl")), expected_of(typed).results);
}

}  // namespace
}  // namespace windrow::batch
