#include "report/log_tally.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "batch/result_line.h"

namespace windrow::report {
namespace {

batch::RowKey key_of(const std::string& id, uint64_t line = 1) {
  return {.line = line, .custom_id = id, .identity = batch::row_identity(id), .fingerprint = 7};
}

// Without its line end.
std::string without_end(std::string line) {
  line.pop_back();
  return line;
}

std::string result(const std::string& id, const std::string& model, const llm::Usage& usage,
                   const llm::Timings& timings = {}, int32_t attempts = 1, int64_t tokens = 0) {
  llm::Answer answer{.choices = {{.text = "x"}}};
  answer.usage = usage;
  answer.timings = timings;
  return without_end(batch::result_line(key_of(id), llm::Endpoint::kCompletions, model, answer,
                                        {.attempts = attempts, .tokens = tokens}, 0));
}

std::string failure(const std::string& id, int32_t status, const std::string& code,
                    const std::string& message, uint64_t line = 1, int32_t attempts = 1,
                    int64_t tokens = 0) {
  return without_end(batch::error_line(
      {.key = key_of(id, line), .failure = {.status = status, .code = code, .message = message}},
      {.attempts = attempts, .tokens = tokens}));
}

class LogTallyTest : public ::testing::Test {
 protected:
  void add_result(const std::string& text) {
    ASSERT_TRUE(tally_.read(batch::LogKind::kResults, ++number_, text).has_value()) << text;
    tally_.count_result();
  }

  void add_failure(const std::string& text) {
    ASSERT_TRUE(tally_.read(batch::LogKind::kErrors, ++number_, text).has_value()) << text;
    tally_.count_failure();
  }

  LogTally tally_;
  uint64_t number_ = 0;
};

TEST_F(LogTallyTest, TokensOfFailedAttemptsAreLost) {
  const llm::Usage usage{.prompt_tokens = 10, .completion_tokens = 3};
  add_result(result("a", "m", usage));
  add_result(result("b", "m", usage, {}, 3, 33));
  add_failure(failure("c", 500, "x", "y", 1, 2, 7));
  add_failure(failure("d", 500, "x", "y", 1, 1));
  EXPECT_EQ(tally_.lost_tokens(), 20 + 7);
}

// Each line in as much memory as it takes, however many there were before it.
TEST_F(LogTallyTest, ManyLongLinesAreRead) {
  const std::string text(40'000, 'x');
  for (int i = 0; i < 200; ++i)
    add_failure(failure("c", 500, "x", text));
  EXPECT_EQ(tally_.failed(), 200);
}

TEST_F(LogTallyTest, AnAnswerThatWasKeptWasNotComputed) {
  const llm::Usage usage{.prompt_tokens = 10, .completion_tokens = 3};
  add_result(result("a", "m", usage));
  add_result(result("b", "m", usage, {}, 0));
  const ModelTally& tally = tally_.models().at("m");
  EXPECT_EQ(tally.rows, 2);
  EXPECT_EQ(tally.tokens, (llm::TokenCount{.prompt = 20, .completion = 6}));
  EXPECT_EQ(tally.computed, (llm::TokenCount{.prompt = 10, .completion = 3}));
}

TEST_F(LogTallyTest, AnswersAreCountedByTheirModel) {
  add_result(result("a", "m", {.prompt_tokens = 10, .completion_tokens = 3, .cached_tokens = 4}));
  add_result(result("b", "m", {.prompt_tokens = 5, .completion_tokens = 2}, {}, 3));
  add_result(result("c", "other", {.prompt_tokens = 1, .completion_tokens = 1}));
  EXPECT_EQ(tally_.succeeded(), 3);
  EXPECT_EQ(tally_.attempts(), 5);
  ASSERT_EQ(tally_.models().size(), 2U);
  EXPECT_EQ(tally_.models().at("m").rows, 2);
  EXPECT_EQ(tally_.models().at("m").tokens,
            (llm::TokenCount{.prompt = 15, .cached = 4, .completion = 5}));
}

// What other servers answer: no details, totals only, numbers that are none.
TEST_F(LogTallyTest, UsageMayBeInAnyState) {
  const auto body = [](std::string_view usage) {
    return fmt::format(R"({{"id":"batch_req_1","custom_id":"a","response":{{"status_code":200,)"
                       R"("body":{{"model":"m","usage":{}}}}},"error":null,)"
                       R"("windrow":{{"line":1,"attempts":1,"fingerprint":"00000000000000aa"}}}})",
                       usage);
  };
  add_result(body(R"({"total_tokens": 7})"));
  add_result(body(R"({"prompt_tokens": 2, "total_tokens": 2})"));
  add_result(body(R"({"prompt_tokens": 3, "prompt_tokens_details": null})"));
  add_result(body(R"({"prompt_tokens": 1, "prompt_tokens_details": {"cached_tokens": 99}})"));
  add_result(body(R"({"prompt_tokens": -4, "completion_tokens": "many"})"));
  add_result(body("null"));
  EXPECT_EQ(tally_.models().at("m").tokens,
            (llm::TokenCount{.prompt = 13, .cached = 1, .completion = 0}));
  // Of /v1/responses, and of /v1/messages, which counts what was cached apart.
  add_result(body(R"({"input_tokens": 5, "input_tokens_details": {"cached_tokens": 2},
      "output_tokens": 4, "output_tokens_details": {"reasoning_tokens": 3}})"));
  add_result(body(R"({"input_tokens": 5, "cache_read_input_tokens": 2, "output_tokens": 4})"));
  EXPECT_EQ(tally_.models().at("m").tokens,
            (llm::TokenCount{
                .prompt = 13 + 5 + 7, .cached = 1 + 2 + 2, .completion = 8, .reasoning = 3}));
  EXPECT_EQ(tally_.latency().count(), 0);
}

TEST_F(LogTallyTest, ATimeIsTheSumOfItsParts) {
  add_result(result("a", "m", {}, {.queue_ms = 100, .prefill_ms = 10, .decode_ms = 5}));
  add_result(result("b", "m", {}, {.queue_ms = 0, .prefill_ms = 2, .decode_ms = 3}));
  EXPECT_EQ(tally_.latency().count(), 2);
  EXPECT_EQ(tally_.latency().max_ms(), 115);
  EXPECT_EQ(tally_.latency().min_ms(), 5);
  EXPECT_EQ(tally_.queue().max_ms(), 100);
  EXPECT_EQ(tally_.decode().min_ms(), 3);
}

TEST_F(LogTallyTest, FailuresHaveAnExampleAndTheMostFrequentComesFirst) {
  add_failure(failure("a", 400, "invalid_value", "temperature is 9", 4));
  add_failure(failure("b", 429, "rate_limited", "slow down", 5, 3));
  add_failure(failure("c", 429, "rate_limited", "slower", 6, 3));
  EXPECT_EQ(tally_.failed(), 3);
  EXPECT_EQ(tally_.attempts(), 7);
  const auto kinds = tally_.failures();
  ASSERT_EQ(kinds.size(), 2U);
  EXPECT_EQ(kinds[0].code, "rate_limited");
  EXPECT_EQ(kinds[0].rows, 2);
  EXPECT_EQ(kinds[0].example_id, "b");
  EXPECT_EQ(kinds[0].example_line, 5U);
  EXPECT_EQ(kinds[0].example_message, "slow down");
  EXPECT_EQ(kinds[1].status, 400);
}

TEST_F(LogTallyTest, WhatIsNotOursIsCountedAndTheRestGoesOn) {
  EXPECT_FALSE(tally_.read(batch::LogKind::kResults, 1, "my notes").has_value());
  EXPECT_FALSE(tally_.read(batch::LogKind::kResults, 2, "").has_value());
  EXPECT_FALSE(tally_.read(batch::LogKind::kResults, 3, failure("a", 400, "x", "y")).has_value());
  EXPECT_FALSE(tally_.read(batch::LogKind::kErrors, 9, "{}").has_value());
  number_ = 9;
  add_result(result("a", "m", {}));
  const OddLines& odd = tally_.odd(batch::LogKind::kResults);
  EXPECT_EQ(odd.lines, 3);
  EXPECT_EQ(odd.first, 1U);
  EXPECT_EQ(odd.first_why, "it is not JSON");
  EXPECT_EQ(tally_.odd(batch::LogKind::kErrors).first, 9U);
  EXPECT_EQ(tally_.succeeded(), 1);
}

TEST_F(LogTallyTest, ManyNamesTakeNoMoreRoom) {
  for (int i = 0; i < 500; ++i) {
    add_result(result("a", fmt::format("model-{}", i), {.prompt_tokens = 1}));
    add_failure(failure("b", 400, fmt::format("code-{}", i), "x"));
  }
  EXPECT_EQ(tally_.models().size(), LogTally::kModelsMax + 1);
  EXPECT_EQ(tally_.models().at("others").rows, 500 - static_cast<int64_t>(LogTally::kModelsMax));
  EXPECT_EQ(tally_.failures().size(), LogTally::kFailureKindsMax + 1);
  EXPECT_EQ(tally_.failures().front().code, "others");
}

TEST_F(LogTallyTest, ALongMessageIsCutBetweenCharacters) {
  std::string message = "x";
  for (int i = 0; i < 1'000; ++i)
    message += "\u00e9";
  add_failure(failure("a", 400, "c", message));
  const std::string shown = tally_.failures().front().example_message;
  EXPECT_LT(shown.size(), 410U);
  EXPECT_TRUE(message.starts_with(shown.substr(0, shown.size() - 3)));
  EXPECT_EQ(shown.size() % 2, 0U) << "x, whole characters of two bytes, three dots";
}

TEST(FailureClass, SaysTheCause) {
  EXPECT_EQ(failure_class(0), "line");
  EXPECT_EQ(failure_class(404), "request");
  EXPECT_EQ(failure_class(408), "timeout");
  EXPECT_EQ(failure_class(429), "overloaded");
  EXPECT_EQ(failure_class(500), "server");
  EXPECT_EQ(failure_class(503), "overloaded");
  EXPECT_EQ(failure_class(504), "timeout");
}

}  // namespace
}  // namespace windrow::report
