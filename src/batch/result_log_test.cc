#include "batch/result_log.h"

#include <gtest/gtest.h>

#include <vector>

#include "store/testing/faulty_disk.h"
#include "store/testing/memory_disk.h"

namespace windrow::batch {
namespace {

using store::testing::FaultyDisk;
using store::testing::MemoryDisk;

class ResultLogTest : public ::testing::Test {
 protected:
  ResultLog open(uint64_t results = 0, uint64_t errors = 0) {
    auto log = ResultLog::open(disk_, "r", results, "e", errors);
    EXPECT_TRUE(log.has_value());
    return *std::move(log);
  }

  std::vector<LogKind> safe_;
  std::function<void(LogKind)> on_safe_ = [this](LogKind kind) { safe_.push_back(kind); };
  MemoryDisk memory_;
  FaultyDisk disk_{memory_};
};

TEST_F(ResultLogTest, AGroupIsWrittenAndSyncedOncePerFile) {
  ResultLog log = open();
  const int64_t before = disk_.operations();
  EXPECT_TRUE(log.commit({.results = "a\nb\n", .errors = "c\n"}, on_safe_).has_value());
  EXPECT_EQ(disk_.operations() - before, 4);  // two appends, two syncs
  EXPECT_EQ(safe_, (std::vector<LogKind>{LogKind::kResults, LogKind::kErrors}));
  EXPECT_EQ(log.bytes(), 6U);
  memory_.drop_unsynced();
  EXPECT_EQ(memory_.get("r"), "a\nb\n");
  EXPECT_EQ(memory_.get("e"), "c\n");
}

TEST_F(ResultLogTest, AnEmptyGroupTouchesNothing) {
  ResultLog log = open();
  const int64_t before = disk_.operations();
  EXPECT_TRUE(log.commit({}, on_safe_).has_value());
  EXPECT_TRUE(log.commit({.errors = "c\n"}, on_safe_).has_value());
  EXPECT_EQ(disk_.operations() - before, 2);
  EXPECT_EQ(safe_, (std::vector<LogKind>{LogKind::kErrors}));
}

TEST_F(ResultLogTest, ATornEndIsCutAtOpen) {
  memory_.put("r", "a\n{\"id");
  ResultLog log = open(2);
  EXPECT_EQ(memory_.get("r"), "a\n");
  EXPECT_TRUE(log.commit({.results = "b\n"}, on_safe_).has_value());
  EXPECT_EQ(memory_.get("r"), "a\nb\n");
}

TEST_F(ResultLogTest, WhatAnEarlierProcessWroteIsSyncedBeforeItIsBuiltUpon) {
  {
    auto file = disk_.open_append("r");
    ASSERT_TRUE((*file)->append("a\n").has_value());
  }
  open(2);
  memory_.drop_unsynced();
  EXPECT_EQ(memory_.get("r"), "a\n");
}

TEST_F(ResultLogTest, AFailedWriteIsCutBackAndPoisonsTheLog) {
  ResultLog log = open();
  ASSERT_TRUE(log.commit({.results = "a\n"}, on_safe_).has_value());
  disk_.set_faults({.bytes_until_full = 3});
  const auto failed = log.commit({.results = "bb\ncc\n"}, on_safe_);
  ASSERT_FALSE(failed.has_value());
  EXPECT_EQ(failed.error().kind, ErrorKind::kDiskFull);
  EXPECT_EQ(memory_.get("r"), "a\n");
  EXPECT_EQ(safe_.size(), 1U);
  // There is room again, but nothing says what the disk did meanwhile.
  disk_.set_faults({});
  EXPECT_EQ(log.commit({.results = "dd\n"}, on_safe_).error(), failed.error());
  EXPECT_EQ(memory_.get("r"), "a\n");
  EXPECT_EQ(log.bytes(), 2U);
}

TEST_F(ResultLogTest, AFailedSyncPoisonsTheLog) {
  ResultLog log = open();
  disk_.set_faults({.syncs_until_failure = 0});
  EXPECT_EQ(log.commit({.results = "a\n"}, on_safe_).error().kind, ErrorKind::kIo);
  EXPECT_TRUE(safe_.empty());
  EXPECT_EQ(memory_.get("r"), "");
  disk_.set_faults({});
  EXPECT_FALSE(log.commit({.results = "b\n"}, on_safe_).has_value());
  EXPECT_EQ(memory_.get("r"), "");
}

TEST_F(ResultLogTest, ADiskThatCannotCutLeavesATornEndForTheNextScan) {
  ResultLog log = open();
  ASSERT_TRUE(log.commit({.results = "a\n"}, on_safe_).has_value());
  disk_.set_faults({.appends_until_short = 0, .truncate_fails = true});
  EXPECT_FALSE(log.commit({.results = "bbbb\n"}, on_safe_).has_value());
  EXPECT_EQ(memory_.get("r"), "a\nbb");
}

TEST_F(ResultLogTest, ResultsAreSafeWhenErrorsCannotBeWritten) {
  ResultLog log = open();
  disk_.set_faults({.bytes_until_full = 3});
  EXPECT_FALSE(log.commit({.results = "a\n", .errors = "bb\n"}, on_safe_).has_value());
  EXPECT_EQ(safe_, (std::vector<LogKind>{LogKind::kResults}));
  EXPECT_EQ(memory_.get("r"), "a\n");
  EXPECT_EQ(memory_.get("e"), "");
  EXPECT_EQ(log.bytes(), 2U);
}

TEST_F(ResultLogTest, TheNamesOfNewFilesAreSafe) {
  open();
  memory_.drop_unsynced();
  EXPECT_TRUE(memory_.exists("r"));
  EXPECT_TRUE(memory_.exists("e"));
}

TEST_F(ResultLogTest, OpeningFailsWithTheDisk) {
  disk_.set_faults({.open_append_fails = true});
  EXPECT_EQ(ResultLog::open(disk_, "r", 0, "e", 0).error().kind, ErrorKind::kIo);
  memory_.put("r", "a\n{");
  disk_.set_faults({.truncate_fails = true});
  EXPECT_EQ(ResultLog::open(disk_, "r", 2, "e", 0).error().kind, ErrorKind::kIo);
}

TEST_F(ResultLogTest, ALogThatAnotherProgramChangedTakesNothingMore) {
  for (int change = 0; change < 4; ++change) {
    SCOPED_TRACE(change);
    MemoryDisk disk;
    auto log = AppendLog::open(disk, "a.log", 0);
    ASSERT_TRUE(log->check_in_place().has_value());
    ASSERT_TRUE(log->append_group("one\n").has_value());
    ASSERT_TRUE(log->check_in_place().has_value());
    if (change == 0) ASSERT_TRUE(disk.remove("a.log").has_value());
    if (change == 1) ASSERT_TRUE(disk.rename("a.log", "b.log").has_value());
    if (change == 2) disk.put("a.log", "one\n");  // another file, with the same in it
    if (change == 3) {
      auto other = disk.open_append("a.log");
      ASSERT_TRUE((*other)->truncate(1).has_value());
    }
    EXPECT_EQ(log->check_in_place().error().kind, ErrorKind::kConflict);
    const std::string before = disk.get("a.log");
    const auto appended = log->append_group("two\n");
    ASSERT_FALSE(appended.has_value());
    EXPECT_EQ(appended.error().kind, ErrorKind::kConflict);
    EXPECT_TRUE(log->poisoned());
    EXPECT_EQ(disk.get("a.log"), before);
  }
}

}  // namespace
}  // namespace windrow::batch
