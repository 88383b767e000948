#include "batch/resume.h"

#include <gtest/gtest.h>

namespace windrow::batch {
namespace {

TEST(Resume, ARowNobodyKnowsRuns) {
  EXPECT_EQ(judge_row(std::nullopt, false), Verdict::kRun);
  EXPECT_EQ(judge_row(std::nullopt, true), Verdict::kRun);
}

TEST(Resume, ARowThatWasOnlySeenByAnotherPassRuns) {
  EXPECT_EQ(judge_row(Known{.same = true}, false), Verdict::kRun);
  EXPECT_EQ(judge_row(Known{.same = false}, false), Verdict::kRun);
}

TEST(Resume, AFinishedRowIsPassedOver) {
  EXPECT_EQ(judge_row(Known{.finished = true, .succeeded = true, .same = true}, false),
            Verdict::kSucceeded);
  EXPECT_EQ(judge_row(Known{.finished = true, .succeeded = false, .same = true}, false),
            Verdict::kFailed);
}

TEST(Resume, AFinishedRowThatAsksSomethingElseIsChanged) {
  for (const bool succeeded : {true, false}) {
    for (const bool reported : {true, false}) {
      EXPECT_EQ(judge_row(Known{.finished = true, .succeeded = succeeded, .same = false}, reported),
                Verdict::kChanged);
    }
  }
}

TEST(Resume, ASecondLineOfOneNameIsADuplicateWhateverElseIsKnown) {
  for (const bool finished : {true, false}) {
    for (const bool succeeded : {true, false}) {
      for (const bool same : {true, false}) {
        const Known known{.finished = finished, .succeeded = succeeded, .seen = true, .same = same};
        EXPECT_EQ(judge_row(known, false), Verdict::kDuplicate);
        EXPECT_EQ(judge_row(known, true), Verdict::kReportedBefore);
      }
    }
  }
}

TEST(Resume, ALineAtFaultIsReportedOnce) {
  EXPECT_EQ(judge_line(false), Verdict::kReport);
  EXPECT_EQ(judge_line(true), Verdict::kReportedBefore);
}

}  // namespace
}  // namespace windrow::batch
