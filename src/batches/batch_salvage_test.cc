// Batches whose logs are damaged between two processes: valid lines stay, the other rows run again,
// and in the end every row has one line.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "base/random.h"
#include "batches/batch_service.h"
#include "batches/testing/service_rig.h"

namespace windrow::batches {
namespace {

namespace fs = std::filesystem;
using testing::echo;
using testing::row;
using testing::rows;
using enum BatchStatus;

class BatchSalvageTest : public testing::ServiceRig {
 protected:
  // Runs a batch of ten rows to its end, and has the next process believe that it is in this state.
  // Afterwards no file is open.
  void leave_in(BatchStatus status) {
    open([](const llm::Request& request) { return echo(request); });
    start();
    id = create(rows(9) + row("x", "bad one"));
    wait_for(id, kCompleted);
    close();
    open();
    BatchRecord record = view(id).record;
    for (const auto& file : {record.output_file_id, record.error_file_id}) {
      EXPECT_TRUE(data->database().change("DELETE FROM files WHERE id = ?", {*file}));
    }
    record.state.status = status;
    BatchTable table(data->database());
    ASSERT_TRUE(table.update(record));
    close();
  }

  std::string log() const { return folder / results_path(id); }

  std::string text(const std::string& path) const {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  void write(const std::string& path, const std::string& bytes) const {
    std::ofstream(path, std::ios::binary) << bytes;
  }

  // Of the results, one.
  void damage_a_line() const {
    std::string damaged = text(log());
    damaged[40] = '\x02';
    write(log(), damaged);
  }

  void expect_whole(const BatchRecord& record) {
    auto found = outcomes(record);
    EXPECT_EQ(found.size(), 10U);
    for (int i = 0; i < 9; ++i)
      EXPECT_EQ(found[fmt::format("r{}", i)], fmt::format("echo p{}", i));
    EXPECT_EQ(found["x"], "cannot");
    EXPECT_EQ(record.counts, (RequestCounts{10, 9, 1}));
  }

  std::string id;
};

TEST_F(BatchSalvageTest, OnlyRowsWhoseLinesAreDamagedRunAgain) {
  leave_in(kInProgress);
  const std::string whole = text(log());
  const std::string record_path = folder / (batch_folder(id) + "/results.job.json");
  const std::string record = text(record_path);
  size_t warned = 0;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    // Bytes that no JSON has, each in a line of its own or with others.
    std::string damaged = whole;
    for (int64_t times = random.between(1, 5); times > 0; --times) {
      char& byte = damaged[random.below(damaged.size())];
      if (byte != '\n') byte = '\x02';
    }
    int64_t hit = 0;
    for (size_t begin = 0; begin < damaged.size(); begin = damaged.find('\n', begin) + 1)
      hit +=
          damaged.substr(begin, damaged.find('\n', begin) - begin).find('\x02') == std::string::npos
              ? 0
              : 1;
    write(log(), damaged);
    write(record_path, record);
    open();
    start();
    expect_whole(wait_for(id, kCompleted));
    EXPECT_EQ(asked().size(), static_cast<size_t>(hit));
    if (hit > 0) {
      ASSERT_EQ(warnings().size(), ++warned);
      const std::string said = warnings().back();
      EXPECT_NE(said.find(id), std::string::npos) << said;
      EXPECT_NE(said.find("results.jsonl: line "), std::string::npos) << said;
      EXPECT_EQ(said.find("--"), std::string::npos) << said;
    }
    close();
    // Back to the middle of it.
    open();
    BatchRecord again = view(id).record;
    for (const auto& file : {again.output_file_id, again.error_file_id})
      EXPECT_TRUE(data->database().change("DELETE FROM files WHERE id = ?", {*file}));
    again.state.status = kInProgress;
    BatchTable table(data->database());
    ASSERT_TRUE(table.update(again));
    close();
    if (hit == 0) continue;
    EXPECT_EQ(text(folder / (batch_folder(id) + "/results.old-1.jsonl")), damaged);
    for (const char* name : {"job.json", "jsonl", "errors.jsonl"})
      fs::remove(folder / (batch_folder(id) + "/results.old-1." + name));
  }
}

TEST_F(BatchSalvageTest, ALineThatWasAppendedByHandCostsNoRow) {
  leave_in(kInProgress);
  std::ofstream(log(), std::ios::app) << "somebody was here\n";
  open();
  start();
  expect_whole(wait_for(id, kCompleted));
  EXPECT_TRUE(asked().empty());
}

// Of the right form, and not of this batch: its row asked something else.
TEST_F(BatchSalvageTest, AnotherBatchsResultsAreNotTakenForItsOwn) {
  open();
  start();
  const std::string other = create(row("r1", "another question"));
  const std::string line = content(wait_for(other, kCompleted).output_file_id);
  leave_in(kInProgress);
  std::string damaged = text(log());
  const size_t begin = damaged.rfind('\n', damaged.find("\"r1\"")) + 1;
  damaged.replace(begin, damaged.find('\n', begin) + 1 - begin, line);
  write(log(), damaged);
  open();
  start();
  expect_whole(wait_for(id, kCompleted));
  EXPECT_EQ(asked(), std::vector<std::string>{"p1"});
}

TEST_F(BatchSalvageTest, ARecordThatIsGoneCostsNoRow) {
  leave_in(kInProgress);
  fs::remove(folder / (batch_folder(id) + "/results.job.json"));
  open();
  start();
  expect_whole(wait_for(id, kCompleted));
  EXPECT_TRUE(asked().empty());
  EXPECT_EQ(warnings().size(), 1U);
}

// All rows had ended; now one has no line.
TEST_F(BatchSalvageTest, WhatIsDamagedBeforeItIsAFileRunsAgain) {
  for (const bool torn : {false, true}) {
    leave_in(kFinalizing);
    std::string damaged = text(log());
    if (torn) {
      damaged.resize(damaged.size() - 10);
    } else {
      damaged[40] = '\x02';
    }
    write(log(), damaged);
    open();
    start();
    expect_whole(wait_for(id, kCompleted));
    EXPECT_EQ(asked().size(), 1U);
    close();
  }
}

// No backend is asked after the time is over: with a model that is gone, the batch would never end.
TEST_F(BatchSalvageTest, WhatIsDamagedAfterItsTimeIsToldThatItIsOver) {
  leave_in(kFinalizing);
  damage_a_line();
  clock.advance(std::chrono::hours(25));
  open();
  start();
  const BatchRecord record = wait_for(id, kCompleted);
  EXPECT_EQ(record.counts, (RequestCounts{10, 8, 2}));
  EXPECT_EQ(outcomes(record).size(), 10U);
  EXPECT_TRUE(asked().empty());
}

TEST_F(BatchSalvageTest, ACancelledOneHasWhatIsSound) {
  leave_in(kCancelling);
  damage_a_line();
  open();
  start();
  const BatchRecord record = wait_for(id, kCancelled);
  EXPECT_EQ(record.counts, (RequestCounts{10, 8, 1}));
  EXPECT_EQ(outcomes(record).size(), 9U);
  EXPECT_TRUE(asked().empty());
}

TEST_F(BatchSalvageTest, AnExpiredBatchKeepsItsValidLines) {
  leave_in(kInProgress);
  damage_a_line();
  clock.advance(std::chrono::hours(25));
  open();
  start();
  const BatchRecord record = wait_for(id, kExpired);
  EXPECT_EQ(record.counts, (RequestCounts{10, 8, 2}));
  auto found = outcomes(record);
  EXPECT_EQ(found.size(), 10U);
  EXPECT_EQ(std::ranges::count(found, "batch_expired",
                               &std::pair<const std::string, std::string>::second),
            1);
}

}  // namespace
}  // namespace windrow::batches
