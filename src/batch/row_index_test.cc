#include "batch/row_index.h"

#include <gtest/gtest.h>

#include <string>

namespace windrow::batch {
namespace {

RowKey key_of(const std::string& id, uint64_t fingerprint, uint64_t line = 1) {
  return {.line = line, .custom_id = id, .identity = row_identity(id), .fingerprint = fingerprint};
}

TEST(RowIndex, KnowsWhatTheLogsSay) {
  RowIndex index;
  EXPECT_TRUE(index.add_result(row_identity("good"), 1));
  EXPECT_TRUE(index.add_failure(row_identity("bad"), 2));
  EXPECT_FALSE(index.add_result(row_identity("good"), 1));
  EXPECT_EQ(index.lookup_row(Pass::kRun, key_of("good", 1), 0), Verdict::kSucceeded);
  EXPECT_EQ(index.lookup_row(Pass::kRun, key_of("bad", 2), 0), Verdict::kFailed);
  EXPECT_EQ(index.lookup_row(Pass::kRun, key_of("new", 3), 0), Verdict::kRun);
  EXPECT_TRUE(index.succeeded(row_identity("good")));
  EXPECT_FALSE(index.succeeded(row_identity("bad")));
  EXPECT_EQ(index.size(), 3U);
}

TEST(RowIndex, EveryPassSeesARowForTheFirstTimeOnce) {
  RowIndex index;
  for (const Pass pass : {Pass::kCheck, Pass::kRun}) {
    EXPECT_EQ(index.lookup_row(pass, key_of("a", 1, 1), 10), Verdict::kRun);
    EXPECT_EQ(index.lookup_row(pass, key_of("a", 2, 2), 20), Verdict::kDuplicate);
    EXPECT_EQ(index.lookup_row(pass, key_of("a", 1, 3), 30), Verdict::kDuplicate);
  }
}

TEST(RowIndex, ADuplicateIsReportedOnce) {
  RowIndex index;
  EXPECT_TRUE(index.add_result(row_identity("a"), 1));
  EXPECT_TRUE(index.add_failure(line_identity(2, 20), 20));
  EXPECT_EQ(index.lookup_row(Pass::kRun, key_of("a", 1, 1), 10), Verdict::kSucceeded);
  EXPECT_EQ(index.lookup_row(Pass::kRun, key_of("a", 9, 2), 20), Verdict::kReportedBefore);
  EXPECT_EQ(index.lookup_row(Pass::kRun, key_of("a", 9, 3), 20), Verdict::kDuplicate);
}

TEST(RowIndex, TheFirstLineDecidesWhetherARowChanged) {
  RowIndex index;
  EXPECT_TRUE(index.add_result(row_identity("a"), 1));
  EXPECT_EQ(index.lookup_row(Pass::kCheck, key_of("a", 2), 0), Verdict::kChanged);
  EXPECT_EQ(index.lookup_row(Pass::kCheck, key_of("a", 1), 0), Verdict::kDuplicate);
}

TEST(RowIndex, LinesAtFaultAreKnownByTheirIdentity) {
  RowIndex index;
  EXPECT_TRUE(index.add_failure(line_identity(4, 40), 40));
  const auto key = [](uint64_t line, uint64_t fingerprint) {
    return RowKey{.line = line,
                  .custom_id = {},
                  .identity = line_identity(line, fingerprint),
                  .fingerprint = fingerprint};
  };
  EXPECT_EQ(index.lookup_line(Pass::kRun, key(4, 40)), Verdict::kReportedBefore);
  EXPECT_EQ(index.lookup_line(Pass::kRun, key(4, 41)), Verdict::kReport);
  EXPECT_EQ(index.lookup_line(Pass::kRun, key(5, 40)), Verdict::kReport);
}

TEST(RowIndex, TellsTwentyEightBitsOfAFingerprint) {
  RowIndex index;
  EXPECT_TRUE(index.add_result(row_identity("a"), 0xF234567890ABCDEF));
  EXPECT_TRUE(index.add_result(row_identity("b"), 0xF234567890ABCDEF));
  EXPECT_EQ(index.lookup_row(Pass::kRun, key_of("a", 0xF234567890ABCDEF), 0), Verdict::kSucceeded);
  EXPECT_EQ(index.lookup_row(Pass::kRun, key_of("b", 0xF234567892ABCDEF), 0), Verdict::kChanged);
}

// A glance says what a whole look would, or nothing.
TEST(RowIndex, AGlancePassesOverOnlyWhatIsFinished) {
  RowIndex index;
  EXPECT_TRUE(index.add_result(row_identity("good"), 1));
  EXPECT_TRUE(index.add_failure(row_identity("bad"), 2));
  EXPECT_TRUE(index.add_failure(row_identity("again"), 3, true));
  for (const Pass pass : {Pass::kCheck, Pass::kRun}) {
    EXPECT_EQ(index.pass_over(pass, row_identity("good"), 9), std::nullopt);
    EXPECT_EQ(index.pass_over(pass, row_identity("good"), 1), Verdict::kSucceeded);
    EXPECT_EQ(index.pass_over(pass, row_identity("good"), 1), std::nullopt);
    EXPECT_EQ(index.lookup_row(pass, key_of("good", 1, 7), 70), Verdict::kDuplicate);
    EXPECT_EQ(index.pass_over(pass, row_identity("bad"), 2), Verdict::kFailed);
    EXPECT_EQ(index.pass_over(pass, row_identity("again"), 3), std::nullopt);
    EXPECT_EQ(index.pass_over(pass, row_identity("new"), 4), std::nullopt);
  }
  index.retry_line(3);
  EXPECT_TRUE(index.add_result(row_identity("other"), 1));
  EXPECT_EQ(index.pass_over(Pass::kRun, row_identity("other"), 1), std::nullopt);
}

TEST(RowIndex, AResultStandsAndTheLastFailureCounts) {
  RowIndex index;
  EXPECT_TRUE(index.add_result(row_identity("answered"), 1));
  EXPECT_FALSE(index.add_failure(row_identity("answered"), 2, true));
  EXPECT_TRUE(index.add_failure(row_identity("failed"), 3));
  EXPECT_FALSE(index.add_failure(row_identity("failed"), 4));
  const RowIndex::Totals totals = index.totals();
  EXPECT_EQ(totals.succeeded, 1);
  EXPECT_EQ(totals.failed, 1);
  EXPECT_EQ(totals.retried, 0);
  EXPECT_EQ(index.lookup_row(Pass::kRun, key_of("answered", 1), 0), Verdict::kSucceeded);
  EXPECT_EQ(index.lookup_row(Pass::kRun, key_of("failed", 4), 0), Verdict::kFailed);
}

TEST(RowIndex, WhatIsRetriedRunsAndItsLinesAreMet) {
  RowIndex index;
  EXPECT_TRUE(index.add_failure(row_identity("again"), 1, true));
  EXPECT_TRUE(index.add_failure(row_identity("gone"), 2, true));
  EXPECT_TRUE(index.add_failure(line_identity(5, 50), 50, true));
  index.retry_line(5);
  index.retry_line(6);
  index.want_only_retried();
  EXPECT_EQ(index.totals().retried, 3);
  EXPECT_EQ(index.lookup_row(Pass::kRun, key_of("again", 9), 0), Verdict::kRun);
  EXPECT_EQ(index.lookup_row(Pass::kRun, key_of("new", 9, 2), 0), Verdict::kNotWanted);
  EXPECT_EQ(index.lookup_row(Pass::kRun, key_of("mended", 9, 5), 0), Verdict::kRun);
  EXPECT_TRUE(index.met_line(5));
  EXPECT_FALSE(index.met_line(6));
  EXPECT_FALSE(index.succeeded(row_identity("again")));
}

TEST(Resume, ARowThatIsInNoLogRuns) {
  EXPECT_EQ(judge_row(std::nullopt, {}), Verdict::kRun);
  EXPECT_EQ(judge_row(std::nullopt, {.reported = true}), Verdict::kRun);
}

TEST(Resume, ARowThatWasOnlySeenByAnotherPassRuns) {
  EXPECT_EQ(judge_row(RowStatus{.same = true}, {}), Verdict::kRun);
  EXPECT_EQ(judge_row(RowStatus{.same = false}, {}), Verdict::kRun);
}

TEST(Resume, AFinishedRowIsPassedOver) {
  EXPECT_EQ(judge_row(RowStatus{.finished = true, .succeeded = true, .same = true}, {}),
            Verdict::kSucceeded);
  EXPECT_EQ(judge_row(RowStatus{.finished = true, .succeeded = false, .same = true}, {}),
            Verdict::kFailed);
}

TEST(Resume, AFinishedRowThatAsksSomethingElseIsChanged) {
  for (const bool succeeded : {true, false}) {
    for (const bool reported : {true, false}) {
      EXPECT_EQ(judge_row(RowStatus{.finished = true, .succeeded = succeeded, .same = false},
                          {.reported = reported}),
                Verdict::kChanged);
    }
  }
}

TEST(Resume, ASecondLineOfOneNameIsADuplicateWhateverElseIsKnown) {
  for (const bool finished : {true, false}) {
    for (const bool succeeded : {true, false}) {
      for (const bool same : {true, false}) {
        const RowStatus known{
            .finished = finished, .succeeded = succeeded, .seen = true, .same = same};
        EXPECT_EQ(judge_row(known, {}), Verdict::kDuplicate);
        EXPECT_EQ(judge_row(known, {.reported = true}), Verdict::kReportedBefore);
      }
    }
  }
}

TEST(Resume, ALineAtFaultIsReportedOnce) {
  EXPECT_EQ(judge_line({}), Verdict::kReport);
  EXPECT_EQ(judge_line({.reported = true}), Verdict::kReportedBefore);
}

TEST(Resume, ARowThatIsRetriedRunsAsItIsNow) {
  for (const Wanted wanted : {Wanted::kAll, Wanted::kRetried}) {
    for (const bool same : {true, false}) {
      EXPECT_EQ(judge_row(RowStatus{.retried = true, .same = same}, {}, wanted), Verdict::kRun);
    }
  }
}

TEST(Resume, OnlyWhatFailedIsWanted) {
  EXPECT_EQ(judge_row(std::nullopt, {}, Wanted::kRetried), Verdict::kNotWanted);
  EXPECT_EQ(judge_row(RowStatus{.seen = true}, {}, Wanted::kRetried), Verdict::kNotWanted);
  EXPECT_EQ(judge_line({}, Wanted::kRetried), Verdict::kNotWanted);
  // What has a line in a log is what it was.
  EXPECT_EQ(judge_row(RowStatus{.finished = true, .same = true}, {}, Wanted::kRetried),
            Verdict::kFailed);
  EXPECT_EQ(judge_row(RowStatus{.finished = true, .same = false}, {}, Wanted::kRetried),
            Verdict::kChanged);
  EXPECT_EQ(judge_line({.reported = true}, Wanted::kRetried), Verdict::kReportedBefore);
}

TEST(Resume, ALineThatWasAtFaultIsWantedWhateverItHoldsNow) {
  const LineStatus line{.retried = true};
  EXPECT_EQ(judge_row(std::nullopt, line, Wanted::kRetried), Verdict::kRun);
  EXPECT_EQ(judge_row(RowStatus{.seen = true}, line, Wanted::kRetried), Verdict::kDuplicate);
  EXPECT_EQ(judge_line(line, Wanted::kRetried), Verdict::kReport);
}

}  // namespace
}  // namespace windrow::batch
