#include "check_answers/score.h"

#include <gtest/gtest.h>

namespace windrow::check_answers {
namespace {

TEST(Score, CountsTasksAndPartsInTheOrderTheyCome) {
  Score score;
  add(score, "sort", {.right = true, .parts = {}}, false);
  add(score, "screening", {.right = false, .parts = {{"fit", true}, {"years", false}}}, false);
  add(score, "sort", {.right = false, .parts = {}}, true);
  add(score, "screening", {.right = true, .parts = {{"fit", true}}}, false);
  ASSERT_EQ(score.tasks.size(), 2U);
  EXPECT_EQ(score.tasks[0].task, "sort");
  EXPECT_EQ(score.tasks[0].rows, 2);
  EXPECT_EQ(score.tasks[0].right, 1);
  EXPECT_EQ(score.tasks[0].missing, 1);
  const TaskScore& screening = score.tasks[1];
  EXPECT_EQ(screening.right, 1);
  EXPECT_EQ(screening.missing, 0);
  ASSERT_EQ(screening.parts.size(), 2U);
  EXPECT_EQ(screening.parts[0].name, "fit");
  EXPECT_EQ(screening.parts[0].right, 2);
  EXPECT_EQ(screening.parts[1].rows, 1);
  EXPECT_EQ(screening.parts[1].right, 0);
}

TEST(Score, OnlyAllOfThemAreAHundredPercent) {
  EXPECT_EQ(percent(0, 0), 0);
  EXPECT_EQ(percent(0, 7), 0);
  EXPECT_EQ(percent(19999, 20000), 99.9);
  EXPECT_EQ(percent(20000, 20000), 100);
}

}  // namespace
}  // namespace windrow::check_answers
