#include "batch/salvage_logs.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/testing/rounds.h"
#include "batch/result_line.h"
#include "batch/testing/job_rig.h"
#include "batch/testing/memory_input.h"
#include "store/testing/faulty_disk.h"
#include "store/testing/memory_disk.h"

namespace windrow::batch {

namespace {

using testing::MemoryInput;
using testing::row_line;

// The rows a to c, a line that is none, and a second b.
const std::string kInput = row_line("a", "1") + row_line("b", "2") + row_line("c", "3") +
                           "rubbish\n" + row_line("b", "other");

class SoundLinesTest : public ::testing::Test {
 protected:
  SoundLinesTest() {
    MemoryInput input(kInput);
    const auto lines = open_lines(input);
    const RowReader reader({.models = {"m"}, .any_model = true});
    for (auto line = (*lines)->next(); *line; line = (*lines)->next()) {
      sound.add_input(**line);
      keys.push_back(key_of(reader, **line));
    }
  }

  static RowKey key_of(const RowReader& reader, const Line& line) {
    const auto opened = reader.open(line);
    if (const auto* fault = std::get_if<RowFault>(&opened)) return fault->key;
    const RowKey& key = std::get<Envelope>(opened).key;
    return line.number == 5 ? duplicate_fault(key, line).key : key;
  }

  std::string result(size_t row) const {
    const llm::Answer answer{.choices = {{.text = "so"}}};
    return whole(
        result_line(keys.at(row), llm::Endpoint::kCompletions, "m", answer, {.attempts = 1}, 0));
  }
  std::string failure(size_t row, bool of_line = false) const {
    return whole(error_line({.key = keys.at(row), .failure = {.status = 400}, .of_line = of_line},
                            {.attempts = 1}));
  }
  static std::string whole(std::string line) {
    line.pop_back();
    return line;
  }
  std::string why_not(LogKind kind, const std::string& line) {
    return std::string(sound.judge(kind, line).value_or(""));
  }

  SoundLines sound;
  std::vector<RowKey> keys;  // of the lines of the input
};

std::string with(std::string text, std::string_view from, std::string_view to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST_F(SoundLinesTest, WhatWasWrittenIsSoundOnceForEachRow) {
  EXPECT_EQ(why_not(LogKind::kResults, result(1)), "");
  EXPECT_EQ(why_not(LogKind::kResults, result(0)), "");
  EXPECT_EQ(why_not(LogKind::kResults, result(1)), "its row has a line already");
  EXPECT_EQ(why_not(LogKind::kErrors, failure(0)), "its row has a line already");
  EXPECT_EQ(why_not(LogKind::kErrors, failure(2)), "");
  EXPECT_EQ(why_not(LogKind::kErrors, failure(2)), "its row has a line already");
}

TEST_F(SoundLinesTest, LinesThatBecameNoRequestsCountByTheirPlaces) {
  EXPECT_EQ(why_not(LogKind::kErrors, failure(3, true)), "");
  EXPECT_EQ(why_not(LogKind::kErrors, failure(4, true)), "");
  EXPECT_EQ(why_not(LogKind::kErrors, failure(4, true)), "its row has a line already");
  EXPECT_EQ(why_not(LogKind::kResults, result(1)), "");
}

TEST_F(SoundLinesTest, WhatIsNotWholeIsNotSound) {
  const std::string line = result(0);
  for (size_t size = 0; size < line.size(); ++size)
    EXPECT_NE(why_not(LogKind::kResults, line.substr(0, size)), "") << size;
  for (size_t at = 0; at < line.size(); ++at) {
    std::string garbled = line;
    garbled[at] = '\0';
    EXPECT_EQ(why_not(LogKind::kResults, garbled), "it is not JSON") << at;
  }
  EXPECT_EQ(why_not(LogKind::kResults, line), "");
}

// The beginning of one line with the end of another, as a lost block makes it.
TEST_F(SoundLinesTest, TwoHalvesAreNoWhole) {
  const std::string one = result(0);
  const std::string other = result(1);
  const size_t end_of_answer = one.find("\"windrow\"");
  for (size_t at = one.find("custom_id"); at < end_of_answer; ++at)
    EXPECT_NE(why_not(LogKind::kResults, one.substr(0, at) + other.substr(at)), "") << at;
}

TEST_F(SoundLinesTest, WhatAnswersNoRowOfTheInputIsNotSound) {
  EXPECT_EQ(why_not(LogKind::kResults, "null"), "it is not a JSON object");
  EXPECT_EQ(why_not(LogKind::kErrors, result(0)), "it is a result among errors");
  EXPECT_EQ(why_not(LogKind::kResults, failure(0)), "it is an error among results");
  EXPECT_EQ(why_not(LogKind::kResults, with(result(0), "\"a\"", "\"b\"")),
            "its id is that of another line");
  EXPECT_EQ(why_not(LogKind::kResults, with(result(0), ":200", ":500")), "it has no answer");
  EXPECT_EQ(why_not(LogKind::kResults, with(result(0), "\"body\"", "\"b\"")), "it has no answer");

  RowKey stranger = keys[0];
  stranger.custom_id = "z";
  stranger.identity = row_identity("z");
  keys.push_back(stranger);
  EXPECT_EQ(why_not(LogKind::kResults, result(5)), "the input has no such row");
  keys[0].fingerprint ^= 4;
  EXPECT_EQ(why_not(LogKind::kResults, result(0)), "its row asks something else now");
}

using store::testing::FaultyDisk;
using store::testing::MemoryDisk;
using testing::entries_of;
using testing::Expected;
using testing::expected_of;
using testing::job_options;
using testing::JobOutcome;
using testing::JobRun;
using testing::MemoryInput;
using testing::row_line;
using testing::run_job;
using testing::split_lines;

constexpr int kRows = 24;

// Rows that are answered, rows that fail, lines that are none, a name that is there twice.
std::string some_input() {
  std::string input;
  for (int i = 0; i < kRows; ++i)
    input += row_line(fmt::format("r{}", i), fmt::format("{} {}", i % 5 == 0 ? "bad" : "p", i));
  return input + "rubbish\n" + row_line("r3", "again");
}

JobRun job(const std::string& input) {
  return {.input = input, .options = job_options(), .backend = {.rows_max = 4, .order_seed = 7}};
}

// Whole lines of `log` that `wrote` has, too, each once.
std::set<std::string> left_of(const std::string& wrote, const std::string& log) {
  std::set<std::string> lines;
  for (const std::string& line : split_lines(wrote))
    lines.insert(line);
  std::set<std::string> left;
  for (const std::string& line : split_lines(log))
    if (lines.contains(line)) left.insert(line);
  return left;
}

// What disks and people do to a log. Nothing of it makes a line of ours into another one.
void damage(Random& random, std::string& log, const std::string& other) {
  const size_t at = random.below(log.size() + 1);
  const size_t size = std::min<size_t>(1 + random.below(600), log.size() - at);
  const auto line_at = [&](size_t from) {
    const size_t end = log.find('\n', from);
    return end == std::string::npos ? log.size() : end + 1;
  };
  switch (random.below(8)) {
    case 0:  // blocks that never reached the disk
      log.replace(at, size, size, '\0');
      return;
    case 1:  // a part of it is gone: what is left of two lines stands side by side
      log.erase(at, size);
      return;
    case 2:
      log.insert(line_at(at), "somebody was here\n");
      return;
    case 3:
      log.insert(line_at(at), R"({"id":"batch_req_0","custom_id":"r1","response":null})"
                              "\n");
      return;
    case 4: {  // a line twice
      const size_t begin = line_at(at);
      log += log.substr(begin, line_at(begin) - begin);
      return;
    }
    case 5:  // the beginning of a line without its end
      log += log.substr(0, size);
      return;
    case 6:  // another log's
      log.insert(line_at(at), other.substr(0, other.find('\n') + 1));
      return;
    default:
      if (at < log.size()) log[at] = '\x01';
  }
}

int64_t submitted_lines(const std::set<std::string>& errors) {
  return std::ranges::count_if(
      errors, [](const std::string& line) { return line.find("cannot") != std::string::npos; });
}

// As a server does it.
JobOutcome run_or_salvage(store::Disk& disk, const std::string& input, Salvage& salvage) {
  JobOutcome first = run_job(disk, job(input));
  if (first.result || (first.result.error().kind != ErrorKind::kInvalid &&
                       first.result.error().kind != ErrorKind::kConflict))
    return first;
  MemoryInput lines(input);
  const Result<Salvage> saved = salvage_logs(job_options(), disk, lines);
  if (!saved) {
    first.result = saved.error();
    return first;
  }
  salvage = *saved;
  return run_job(disk, job(input));
}

class SalvageLogs : public ::testing::Test {
 protected:
  SalvageLogs() { EXPECT_TRUE(run_job(whole, job(input)).completed()); }

  const std::string input = some_input();
  const Expected expected = expected_of(input);
  MemoryDisk whole;  // with all that a job leaves
};

void expect_all(const MemoryDisk& disk, const Expected& expected, const std::string& what) {
  EXPECT_EQ(entries_of(disk.get("r.jsonl")), expected.results) << what;
  EXPECT_EQ(entries_of(disk.get("r.errors.jsonl")), expected.errors) << what;
}

TEST_F(SalvageLogs, WhateverIsDamagedSoundRowsAreNotAskedAgain) {
  const std::string results = whole.get("r.jsonl");
  const std::string errors = whole.get("r.errors.jsonl");
  int64_t salvaged = 0;
  for (uint64_t seed = 0; seed < windrow::testing::rounds(250U, 1'000U) && !HasFailure(); ++seed) {
    const std::string what = fmt::format("seed {}", seed);
    Random random(seed);
    const auto disk = whole.copy();
    std::string damaged_results = results;
    std::string damaged_errors = errors;
    for (int64_t times = random.between(1, 4); times > 0; --times) {
      if (random.chance(0.7)) {
        damage(random, damaged_results, errors);
      } else {
        damage(random, damaged_errors, results);
      }
    }
    disk->put("r.jsonl", damaged_results);
    disk->put("r.errors.jsonl", damaged_errors);
    const bool record_gone = random.chance(0.2);
    if (record_gone) ASSERT_TRUE(disk->remove("r.job.json"));

    Salvage salvage;
    const JobOutcome outcome = run_or_salvage(*disk, input, salvage);
    ASSERT_TRUE(outcome.completed()) << what << ": " << outcome.error();
    expect_all(*disk, expected, what);
    const std::set<std::string> left = left_of(results, damaged_results);
    const int64_t answered =
        static_cast<int64_t>(left.size()) + submitted_lines(left_of(errors, damaged_errors));
    EXPECT_LE(outcome.submitted, kRows - answered) << what;
    EXPECT_EQ(disk->exists("r.jsonl.salvaged.tmp"), false) << what;
    if (salvage.aside.empty()) continue;
    ++salvaged;
    EXPECT_EQ(disk->get("r.old-1.jsonl"), damaged_results) << what;
    EXPECT_EQ(disk->get("r.old-1.errors.jsonl"), damaged_errors) << what;
    EXPECT_TRUE(salvage.lost > 0 || record_gone) << what;
  }
  EXPECT_GT(salvaged, windrow::testing::rounds(80, 500));
}

TEST_F(SalvageLogs, SaysWhatIsLost) {
  std::string log = whole.get("r.jsonl");
  log.insert(log.find('\n') + 1, "somebody was here\n");
  whole.put("r.jsonl", log + "{\"id\":");
  MemoryInput lines(input);
  const Result<Salvage> salvage = salvage_logs(job_options(), whole, lines);
  ASSERT_TRUE(salvage);
  EXPECT_EQ(salvage->kept, kRows + 2);
  EXPECT_EQ(salvage->lost, 2);
  EXPECT_EQ(salvage->why, "r.jsonl: line 2: it is not JSON");
  EXPECT_EQ(salvage->aside, (std::vector<std::string>{"r.old-1.job.json", "r.old-1.jsonl",
                                                      "r.old-1.errors.jsonl"}));
  const JobOutcome outcome = run_job(whole, job(input));
  EXPECT_TRUE(outcome.completed()) << outcome.error();
  EXPECT_EQ(outcome.submitted, 0);
  expect_all(whole, expected, "");
}

// Options that are others, or a record that is gone, cost no row.
TEST_F(SalvageLogs, ARecordThatIsNotAsItMustBeIsWrittenAnew) {
  for (const char* record : {"", "{", R"({"format":1})"}) {
    const auto disk = whole.copy();
    disk->put("r.job.json", record);
    if (*record == '\0') ASSERT_TRUE(disk->remove("r.job.json"));
    Salvage salvage;
    const JobOutcome outcome = run_or_salvage(*disk, input, salvage);
    ASSERT_TRUE(outcome.completed()) << record << outcome.error();
    EXPECT_EQ(outcome.submitted, 0) << record;
    EXPECT_EQ(salvage.why, "") << record;
    EXPECT_EQ(salvage.kept, kRows + 2) << record;
    expect_all(*disk, expected, record);
  }
}

// A row whose line of the input is another now is asked again, as it is now.
TEST_F(SalvageLogs, ARowThatAsksSomethingElseRunsAgain) {
  std::string changed = input;
  changed.replace(changed.find("p 1\""), 3, "q 1");
  EXPECT_EQ(run_job(whole, job(changed)).result.error().kind, ErrorKind::kConflict);
  Salvage salvage;
  const JobOutcome outcome = run_or_salvage(whole, changed, salvage);
  ASSERT_TRUE(outcome.completed()) << outcome.error();
  EXPECT_EQ(outcome.submitted, 1);
  expect_all(whole, expected_of(changed), "");
}

TEST_F(SalvageLogs, AnEndAtAnyMomentLosesNothing) {
  std::string log = whole.get("r.jsonl");
  log.insert(log.find('\n') + 1, "somebody was here\n");
  whole.put("r.jsonl", log);
  for (int64_t operations = 0; !HasFailure(); ++operations) {
    const std::string what = fmt::format("after {} operations", operations);
    const auto memory = whole.copy();
    FaultyDisk dying(*memory, {.operations_until_death = operations});
    MemoryInput lines(input);
    const bool survived = salvage_logs(job_options(), dying, lines).has_value();
    memory->release_locks();
    memory->drop_unsynced();
    Salvage salvage;
    const JobOutcome outcome = run_or_salvage(*memory, input, salvage);
    ASSERT_TRUE(outcome.completed()) << what << ": " << outcome.error();
    EXPECT_EQ(outcome.submitted, 0) << what;
    expect_all(*memory, expected, what);
    EXPECT_TRUE(memory->get("r.old-1.jsonl") == log || memory->get("r.old-2.jsonl") == log) << what;
    if (survived) break;
  }
}

TEST_F(SalvageLogs, AFullDiskChangesNothing) {
  whole.put("r.jsonl", "rubbish\n" + whole.get("r.jsonl"));
  const std::set<std::string> names = whole.names();
  const std::string results = whole.get("r.jsonl");
  int64_t room = 0;
  for (;; room += 100) {
    const auto memory = whole.copy();
    FaultyDisk full(*memory, {.bytes_until_full = room});
    MemoryInput lines(input);
    const Result<Salvage> salvage = salvage_logs(job_options(), full, lines);
    if (salvage) break;
    EXPECT_EQ(salvage.error().kind, ErrorKind::kDiskFull) << room;
    EXPECT_EQ(memory->get("r.jsonl"), results) << room;
    memory->release_locks();
    auto left = memory->names();
    left.erase("r.lock");
    EXPECT_EQ(left, names) << room;
  }
  EXPECT_GT(room, static_cast<int64_t>(2 * results.size()));
}

TEST_F(SalvageLogs, NoOtherRunMayWriteMeanwhile) {
  const auto lock = whole.lock("r.lock");
  MemoryInput lines(input);
  EXPECT_EQ(salvage_logs(job_options(), whole, lines).error().kind, ErrorKind::kConflict);
}

}  // namespace
}  // namespace windrow::batch
