#include "batch/resume.h"

#include <gtest/gtest.h>

namespace windrow::batch {
namespace {

TEST(Resume, ARowNobodyKnowsRuns) {
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
