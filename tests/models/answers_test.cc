// The model of the repository answers held-out rows of every task as well as it did when it was
// trained. A worse template, tokenizer, arithmetic or sampler shows here.
#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <string_view>

#include "check_answers/files.h"
#include "check_answers/report.h"
#include "end_to_end/job_folder.h"

namespace windrow::end_to_end {
namespace {

struct Floor {
  std::string_view task;
  double percent;  // of the 25 rows of the sample
};

// The shares measured on the sample, less a margin of three or four rows: another processor rounds
// differently, which changes the answers of rows whose best tokens are nearly equal.
constexpr Floor kFloors[] = {
    {"screening", 84}, {"extraction", 80}, {"consolidation", 88}, {"sort", 88},
    {"merge", 88},     {"sum", 76},        {"sort32", 88},        {"tool_calling", 88},
};

void PrintTo(const Floor& floor, std::ostream* stream) {
  *stream << floor.task << " at least " << floor.percent << " %";
}

std::string sample(std::string_view task, std::string_view ending) {
  return std::string(WINDROW_SAMPLES_DIR) + "/" + std::string(task) + std::string(ending);
}

class Answers : public ::testing::TestWithParam<Floor> {};

TEST_P(Answers, AreRightAsOftenAsTheyWere) {
  const std::string_view task = GetParam().task;
  JobFolder folder;
  folder.use_model(WINDROW_MODELS_DIR "/windrow-demo.gguf");
  const Ended ended = folder.windrow(
      {"run", sample(task, ".jsonl"), "-o", "results.jsonl", "--model", "model.gguf"});
  ASSERT_EQ(ended.code, 0) << ended;
  const auto checked =
      check_answers::check_files(folder.path("results.jsonl"), sample(task, ".key.jsonl"), 5);
  ASSERT_TRUE(checked) << checked.error().message;
  const check_answers::Score& score = checked->score;
  ASSERT_EQ(score.tasks.size(), 1U);
  std::string wrong;
  for (const check_answers::WrongAnswer& answer : checked->wrong) {
    wrong += answer.custom_id + "\n  right  " + answer.expected + "\n  given  " +
             answer.given.value_or("(nothing)") + "\n";
  }
  EXPECT_EQ(score.tasks[0].rows, 25);
  EXPECT_EQ(score.tasks[0].missing, 0);
  EXPECT_GE(check_answers::percent(score.tasks[0].right, score.tasks[0].rows), GetParam().percent)
      << check_answers::report_text(score) << wrong;
}

std::string name_of(const ::testing::TestParamInfo<Floor>& info) {
  return std::string(info.param.task);
}

INSTANTIATE_TEST_SUITE_P(Models, Answers, ::testing::ValuesIn(kFloors), name_of);

}  // namespace
}  // namespace windrow::end_to_end
