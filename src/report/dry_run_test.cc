#include "report/dry_run.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <numeric>

#include "base/testing/manual_clock.h"
#include "batch/testing/memory_input.h"

namespace windrow::report {
namespace {

using std::chrono::milliseconds;

// A prompt has a token for each of its letters.
std::variant<MeasuredRequest, llm::Failure> measure(const llm::Request& request) {
  if (request.inputs.at(0).text.size() > 100)
    return llm::Failure{.code = "context_length_exceeded"};
  return MeasuredRequest{
      .prompts = {{request.inputs.at(0).text.begin(), request.inputs.at(0).text.end()}},
      .output_tokens_max = int64_t{request.output_tokens_max.value_or(50)} * request.choices};
}

std::string row(int number, const std::string& prompt, const std::string& more = "") {
  return fmt::format(
      R"({{"custom_id":"{}","method":"POST","url":"/v1/completions","body":{{"model":"m",)"
      R"("prompt":"{}"{}}}}})"
      "\n",
      number, prompt, more);
}

Result<Survey> survey(const std::string& text, std::optional<int64_t> rows_max = std::nullopt) {
  batch::testing::MemoryInput input(text);
  auto lines = batch::open_lines(input);
  EXPECT_TRUE(lines.has_value());
  const batch::RowReader reader(batch::RowRules{.body = {}, .models = {"m"}, .any_model = true});
  return survey_rows(**lines, rows_max, reader, measure);
}

TEST(Survey, CountsRowsTokensAndFaults) {
  const Result<Survey> result = survey(row(1, "abcdef") + row(2, "abcxyz", R"(,"max_tokens":7)") +
                                       "nonsense\n\n" + row(4, std::string(101, 'x')));
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->rows, 4);
  EXPECT_EQ(result->rows_at_fault, 2);
  EXPECT_EQ(result->rows_good(), 2);
  EXPECT_EQ(result->prompt_tokens, 12);
  EXPECT_EQ(result->prompt_tokens_longest, 6);
  EXPECT_EQ(result->answers, 2);
  EXPECT_EQ(result->output_tokens_max, 57);
  EXPECT_DOUBLE_EQ(result->shared_prefix, 0.25);
  EXPECT_EQ(result->sample.size(), 2U);
  ASSERT_EQ(result->faults.size(), 2U);
  EXPECT_EQ(result->faults[0], (FailureCount{0, "invalid_json_line", 1})) << "no request";
  EXPECT_EQ(result->faults[1], (FailureCount{400, "context_length_exceeded", 1}));
}

TEST(Survey, EveryChoiceIsAnAnswer) {
  const Result<Survey> result = survey(row(1, "a", R"(,"n":3)") + row(2, "b") +
                                       row(3, "c", R"(,"max_tokens":0,"echo":true,"logprobs":0)"));
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->answers, 4) << "what is only read is not answered";
  EXPECT_EQ(result->output_tokens_max, 200);
}

TEST(Survey, PromptsThatAreOnlyScoredShareTheirBeginnings) {
  const std::string scored = R"(,"max_tokens":0,"echo":true,"logprobs":1)";
  const Result<Survey> result =
      survey(row(1, "abcdef", scored) + row(2, "abcxyz", scored) + row(3, "abcdez", scored));
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->prompt_tokens, 18);
  EXPECT_DOUBLE_EQ(result->shared_prefix, 8.0 / 18);
  EXPECT_EQ(result->answers, 0);
  const std::string echoed = R"(,"max_tokens":0,"echo":true)";
  EXPECT_EQ(survey(row(1, "abcdef", echoed) + row(2, "abcdef", echoed))->shared_prefix, 0)
      << "nothing is computed";
}

TEST(Survey, StopsAtTheLimit) {
  const Result<Survey> result = survey(row(1, "a") + row(2, "b") + row(3, "c"), 2);
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->rows, 2);
}

TEST(Survey, TheSampleIsBoundedFairAndRepeatable) {
  std::string text;
  for (int i = 0; i < 3000; ++i)
    text += row(i, fmt::format("{}", i));
  const Result<Survey> one = survey(text);
  const Result<Survey> other = survey(text);
  ASSERT_TRUE(one.has_value() && other.has_value());
  ASSERT_EQ(one->sample.size(), kSampleRows);
  double sum = 0;
  for (size_t i = 0; i < kSampleRows; ++i) {
    EXPECT_EQ(one->sample[i].request.inputs.at(0).text, other->sample[i].request.inputs.at(0).text);
    sum += std::stod(one->sample[i].request.inputs.at(0).text);
  }
  EXPECT_NEAR(sum / kSampleRows, 1500, 200);
}

TEST(Survey, AnInputThatBreaksOffIsAnError) {
  batch::testing::MemoryInput input(row(1, "a") + row(2, "b"), {.piece_bytes = 10, .fails_at = 60});
  auto lines = batch::open_lines(input);
  ASSERT_TRUE(lines.has_value());
  const batch::RowReader reader(batch::RowRules{.body = {}, .models = {"m"}, .any_model = true});
  EXPECT_FALSE(survey_rows(**lines, std::nullopt, reader, measure).has_value());
}

// A backend of known speed: a prompt token takes 1 ms, one of an answer 5 ms.
class CalibrationTest : public ::testing::Test {
 protected:
  Result<std::vector<llm::Outcome>> run(std::vector<llm::Request> requests) {
    std::vector<llm::Outcome> outcomes;
    for (const llm::Request& request : requests) {
      EXPECT_TRUE(request.output_tokens_max.has_value());
      const int32_t tokens = std::min(*request.output_tokens_max, answer_tokens_);
      clock_.advance(milliseconds(1) * static_cast<int64_t>(request.inputs.at(0).text.size()));
      clock_.advance(milliseconds(5) * (tokens - 1) * request.choices);
      const llm::Choice choice{.finish_reason = tokens < *request.output_tokens_max
                                                    ? llm::FinishReason::kStop
                                                    : llm::FinishReason::kLength};
      outcomes.emplace_back(llm::Answer{
          .choices = std::vector<llm::Choice>(static_cast<size_t>(request.choices), choice),
          .usage = {.prompt_tokens = static_cast<int32_t>(request.inputs.at(0).text.size()),
                    .completion_tokens = tokens * request.choices}});
    }
    batches_.push_back(requests.size());
    return outcomes;
  }

  Result<Calibration> calibrate(const std::vector<SampledRow>& sample, int32_t rows_max) {
    return report::calibrate(
        sample, rows_max, [this](std::vector<llm::Request> requests) { return run(requests); },
        clock_);
  }

  static std::vector<SampledRow> sample(size_t rows, size_t prompt_tokens) {
    const llm::Request request{.endpoint = llm::Endpoint::kCompletions,
                               .inputs = {{.text = std::string(prompt_tokens, 'x')}}};
    return std::vector<SampledRow>(
        rows, SampledRow{.request = request, .prompt_tokens = static_cast<int32_t>(prompt_tokens)});
  }

  windrow::testing::ManualClock clock_;
  int32_t answer_tokens_ = 1000;
  std::vector<size_t> batches_;
};

TEST_F(CalibrationTest, FindsTheRates) {
  const Result<Calibration> calibration = calibrate(sample(100, 50), 16);
  ASSERT_TRUE(calibration.has_value());
  EXPECT_NEAR(calibration->prompt_tokens_per_s, 1000, 1);
  EXPECT_NEAR(calibration->generated_tokens_per_s, 200, 1);
  EXPECT_EQ(calibration->rows, 16);
  EXPECT_EQ(calibration->answers, 16);
  EXPECT_EQ(calibration->answers_ended, 0);
  EXPECT_EQ(batches_, (std::vector<size_t>{1, 16, 16}));
}

TEST_F(CalibrationTest, StaysShortWherePromptsAreLong) {
  const Result<Calibration> calibration = calibrate(sample(100, 1500), 16);
  ASSERT_TRUE(calibration.has_value());
  EXPECT_EQ(batches_, (std::vector<size_t>{1, 2, 5}));
  EXPECT_LT(calibration->took, std::chrono::seconds(20));
}

TEST_F(CalibrationTest, OneRowIsEnough) {
  const Result<Calibration> calibration = calibrate(sample(1, 50), 16);
  ASSERT_TRUE(calibration.has_value());
  EXPECT_NEAR(calibration->prompt_tokens_per_s, 1000, 1);
  EXPECT_NEAR(calibration->generated_tokens_per_s, 200, 1);
  EXPECT_FALSE(calibrate({}, 16).has_value());
}

TEST_F(CalibrationTest, ABackendThatAnswersNothingIsAnError) {
  const auto failing = [](const std::vector<llm::Request>& requests) {
    return Result<std::vector<llm::Outcome>>(std::vector<llm::Outcome>(
        requests.size(), llm::Outcome(llm::Failure{.message = "out of memory"})));
  };
  const Result<Calibration> calibration = report::calibrate(sample(3, 5), 2, failing, clock_);
  ASSERT_FALSE(calibration.has_value());
  EXPECT_EQ(calibration.error().message,
            "no row could be answered to measure the speed: out of memory");
}

TEST_F(CalibrationTest, AnswersThatEndTellHowLongTheRestWillBe) {
  answer_tokens_ = 11;
  const Result<Calibration> calibration = calibrate(sample(100, 50), 16);
  ASSERT_TRUE(calibration.has_value());
  EXPECT_EQ(calibration->answers_ended, 16);
  const Estimate estimate = estimate_time(Survey{.rows = 1010,
                                                 .rows_at_fault = 10,
                                                 .prompt_tokens = 50'000,
                                                 .answers = 1000,
                                                 .output_tokens_max = 101'000},
                                          *calibration);
  EXPECT_NEAR(seconds(estimate.shortest), 50, 1);
  ASSERT_TRUE(estimate.likely.has_value());
  EXPECT_NEAR(estimate.likely_answer_tokens, 11, 0.01);
  EXPECT_NEAR(seconds(*estimate.likely), 50 + 1000 * 10 * 0.005, 1);
  EXPECT_NEAR(seconds(estimate.longest), 50 + 1000 * 100 * 0.005, 5);
}

TEST_F(CalibrationTest, EveryChoiceTakesItsTime) {
  answer_tokens_ = 11;
  std::vector<SampledRow> rows = sample(100, 50);
  for (SampledRow& row : rows)
    row.request.choices = 4;
  const Result<Calibration> calibration = calibrate(rows, 16);
  ASSERT_TRUE(calibration.has_value());
  EXPECT_NEAR(calibration->generated_tokens_per_s, 200, 1);
  EXPECT_EQ(calibration->rows, 16);
  EXPECT_EQ(calibration->answers_ended, 64);
  const Estimate estimate = estimate_time(
      Survey{.rows = 1000, .prompt_tokens = 50'000, .answers = 4000, .output_tokens_max = 404'000},
      *calibration);
  EXPECT_NEAR(seconds(estimate.shortest), 50, 1);
  EXPECT_NEAR(estimate.likely_answer_tokens, 11, 0.01);
  EXPECT_NEAR(seconds(*estimate.likely), 50 + 4000 * 10 * 0.005, 1);
  EXPECT_NEAR(seconds(estimate.longest), 50 + 4000 * 100 * 0.005, 5);
}

DryRun example() {
  return DryRun{.input = "requests.jsonl",
                .survey = {.rows = 1010,
                           .rows_at_fault = 10,
                           .faults = {{400, "invalid_json", 10}},
                           .prompt_tokens = 50'000,
                           .prompt_tokens_longest = 700,
                           .answers = 1000,
                           .output_tokens_max = 101'000,
                           .shared_prefix = 0.4321},
                .calibration = Calibration{.prompt_tokens_per_s = 1000,
                                           .generated_tokens_per_s = 200,
                                           .rows = 16,
                                           .answers = 16,
                                           .answers_ended = 16,
                                           .generated_tokens = 176,
                                           .took = milliseconds(2500)}};
}

TEST(DryRunText, SaysWhatWasFoundAndWhatIsAssumed) {
  EXPECT_EQ(
      dry_run_to_text(example()),
      "input         requests.jsonl\n"
      "rows          1,010, 10 of them at fault\n"
      "              10 x 400 invalid_json\n"
      "prompts       50,000 tokens, the longest 700\n"
      "shared prefix 43.2 % of the prompt tokens repeat the beginning of another prompt\n"
      "answers       at most 101,000 tokens, by max_tokens\n"
      "speed         1,000 prompt tokens/s, 200 generated tokens/s with 16 rows together "
      "(measured in 2.5 s)\n"
      "time          about 1 min 18 s, if answers have 11 tokens on average (16 of 16 ended "
      "by themselves within 32)\n"
      "              between 28 s (answers of one token) and 8 min 48 s (as long as "
      "max_tokens allows)\n"
      "              assuming that every shared beginning is computed once and that the speed "
      "stays\n");
}

TEST(DryRunText, SaysWhereAnotherCacheMayBeFaster) {
  DryRun dry_run = example();
  const std::string hint = "hint          prompts share little: --kv-cache split may be faster";
  EXPECT_EQ(dry_run_to_text(dry_run).find(hint), std::string::npos);
  dry_run.survey.shared_prefix = 0.02;
  EXPECT_NE(dry_run_to_text(dry_run).find(hint), std::string::npos);
}

TEST(DryRunText, EmbeddingsAndScoresGenerateNothing) {
  DryRun dry_run = example();
  dry_run.survey.answers = 0;
  dry_run.survey.output_tokens_max = 0;
  dry_run.survey.shared_prefix = 0;
  const std::string text = dry_run_to_text(dry_run);
  EXPECT_NE(text.find("answers       no tokens to generate: embeddings or scores\n"
                      "speed         1,000 prompt tokens/s (measured in 2.5 s)\n"
                      "time          about 50 s, assuming that the speed stays\n"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("max_tokens"), std::string::npos) << text;
}

TEST(DryRunText, WithoutEndsThereIsNoLikelyTime) {
  DryRun dry_run = example();
  dry_run.calibration->answers_ended = 2;
  EXPECT_NE(dry_run_to_text(dry_run).find("\ntime          between 28 s"), std::string::npos);
  EXPECT_TRUE(dry_run_to_json(dry_run).at("estimate").at("likely_s").is_null());
  dry_run.calibration = std::nullopt;
  EXPECT_EQ(dry_run_to_text(dry_run).find("time"), std::string::npos);
  EXPECT_TRUE(dry_run_to_json(dry_run).at("estimate").is_null());
}

TEST(DryRunText, JsonHoldsTheSame) {
  const boost::json::object json = dry_run_to_json(example());
  EXPECT_EQ(json.at("rows"), 1010);
  EXPECT_EQ(json.at("faults").at(0).at("code"), "invalid_json");
  EXPECT_EQ(json.at("calibration").at("rows"), 16);
  EXPECT_NEAR(json.at("estimate").at("likely_s").as_double(), 78.4, 0.1);
}

}  // namespace
}  // namespace windrow::report
