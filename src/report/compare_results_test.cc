#include "report/compare_results.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "batch/testing/job_rig.h"
#include "store/testing/memory_disk.h"

namespace windrow::report {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

std::string answer(std::string_view id, std::string_view text, std::string_view finish = "stop",
                   int64_t ms = 100) {
  return fmt::format(
      R"({{"id":"batch_req_1","custom_id":"{}","response":{{"status_code":200,"request_id":"r",)"
      R"("body":{{"id":"x","choices":[{{"index":0,"message":{{"role":"assistant","content":"{}"}},)"
      R"("finish_reason":"{}"}}],"usage":{{"prompt_tokens":10,"completion_tokens":5}}}}}},)"
      R"("error":null,"windrow":{{"line":1,"attempts":1,"timings":{{"queue_ms":0,)"
      R"("prefill_ms":0,"decode_ms":{}}}}}}})"
      "\n",
      id, text, finish, ms);
}

std::string failure(std::string_view id, std::string_view code) {
  return fmt::format(
      R"({{"id":"batch_req_1","custom_id":"{}","response":null,)"
      R"("error":{{"code":"{}","message":"no"}},"windrow":{{"line":1,"attempts":1}}}})"
      "\n",
      id, code);
}

class CompareTest : public ::testing::Test {
 protected:
  void write(const std::string& path, std::string_view text) {
    ASSERT_TRUE(disk_.write_atomically(path, text).has_value());
  }

  Comparison compare(const CompareOptions& options = {}) {
    auto done = compare_results(disk_, "a.jsonl", "b.jsonl", options);
    EXPECT_TRUE(done.has_value()) << done.error().message;
    return done ? *std::move(done) : Comparison{};
  }

  std::string error(const CompareOptions& options = {}) {
    const auto done = compare_results(disk_, "a.jsonl", "b.jsonl", options);
    return done ? "compared" : done.error().message;
  }

  store::testing::MemoryDisk disk_;
};

TEST_F(CompareTest, EqualAnswersInAnotherOrderDoNotDiffer) {
  write("a.jsonl", answer("1", "yes") + answer("2", "no", "stop", 50));
  write("b.jsonl", answer("2", "no", "stop", 900) + answer("1", "yes"));
  const Comparison found = compare();
  EXPECT_FALSE(found.differs());
  EXPECT_EQ(found.rows_both, 2);
  EXPECT_EQ(found.equal, 2);
  const std::string text = comparison_to_text(found);
  EXPECT_THAT(text, HasSubstr("answers       2 (100.0 %) equal, 0 (0.0 %) different\n"));
  EXPECT_THAT(text, HasSubstr("tokens        20 prompt, 10 output\n"));
  EXPECT_EQ(comparison_to_json(found).at("differs"), false);
}

TEST_F(CompareTest, WhatDiffersIsCountedAndShown) {
  write("a.jsonl", answer("1", "yes") + answer("2", "no") + answer("3", "c") +
                       answer("only a", "") + answer("4", "d"));
  write("a.errors.jsonl", failure("5", "invalid_value") + failure("6", "timeout"));
  write("b.jsonl", answer("1", "yes", "length") + answer("2", "maybe\\nnot") + answer("5", "e"));
  write("b.errors.jsonl", failure("3", "server_error") + failure("6", "server_error") +
                              failure("4", "x") + failure("7", "x"));
  const Comparison found = compare();
  EXPECT_TRUE(found.differs());
  EXPECT_EQ(found.rows_both, 6);
  EXPECT_THAT(found.ids_only[0], ElementsAre("only a"));
  EXPECT_THAT(found.ids_only[1], ElementsAre("7"));
  EXPECT_EQ(found.equal, 1);
  EXPECT_EQ(found.different, 1);
  EXPECT_EQ(found.finish_changed, 1);
  EXPECT_EQ(found.failed_only[0], 1);
  EXPECT_EQ(found.failed_only[1], 2);
  EXPECT_EQ(found.failed_both, 1);
  EXPECT_EQ(found.failed_otherwise, 1);
  const std::string text = comparison_to_text(found);
  EXPECT_THAT(text, HasSubstr("first         a.jsonl: 7 rows, 2 failed\n"
                              "second        b.jsonl: 7 rows, 4 failed\n"
                              "rows          6 in both\n"
                              "              1 only in a.jsonl: only a\n"
                              "              1 only in b.jsonl: 7\n"
                              "answers       1 (50.0 %) equal, 1 (50.0 %) different\n"));
  EXPECT_THAT(text, HasSubstr("server_error: 0 -> 2\n"));
  EXPECT_THAT(text, HasSubstr("finish        length: 0 -> 1\n"));
  EXPECT_THAT(text, HasSubstr("\n2\n  - no\n  + maybe\\nnot\n"));
  EXPECT_THAT(text, HasSubstr("\n3\n  - c\n  + (failed: server_error)\n"));
  EXPECT_THAT(text, Not(HasSubstr("\n1\n"))) << "its text is the same";
  const auto json = comparison_to_json(found);
  EXPECT_EQ(json.at("differs"), true);
  EXPECT_EQ(json.at("answers").at("different"), 1);
  EXPECT_EQ(json.at("second").at("failures").at("server_error"), 2);
}

TEST_F(CompareTest, AResultCountsAndNotTheFailureBeforeIt) {
  write("a.jsonl", answer("1", "yes"));
  write("a.errors.jsonl", failure("1", "timeout"));
  write("b.jsonl", answer("1", "yes"));
  EXPECT_FALSE(compare().differs());
  EXPECT_EQ(compare().sides[0].failed, 0);
}

TEST_F(CompareTest, ManyDifferencesHaveFewExamples) {
  std::string one;
  std::string other;
  for (int i = 0; i < 30; ++i) {
    one += answer(fmt::format("row-{:02}", i), "a");
    other += answer(fmt::format("row-{:02}", 29 - i), "b");
  }
  write("a.jsonl", one);
  write("b.jsonl", other);
  const Comparison found = compare({.examples_max = 3});
  ASSERT_EQ(found.examples.size(), 3U);
  EXPECT_EQ(found.examples[0].custom_id, "row-00") << "in the order of the first file";
  EXPECT_EQ(found.examples[2].custom_id, "row-02");
  EXPECT_THAT(comparison_to_text(found), HasSubstr("and 27 more that differ\n"));
}

TEST_F(CompareTest, AKeySaysWhoIsRight) {
  write("a.jsonl", answer("1", "yes") + answer("2", "no") + answer("3", "{\\\"x\\\": 1}"));
  write("b.jsonl", answer("1", " yes ") + answer("2", "yes") + answer("3", "{}"));
  write("key.jsonl", R"({"custom_id": "1", "answer": "yes"}
{"custom_id": "2", "task": "t", "answer": "yes"}

{"custom_id": "3", "answer": {"x": 1}}
{"custom_id": "4", "answer": "yes"})");
  const Comparison found = compare({.key = "key.jsonl"});
  EXPECT_EQ(found.key_rows, 4);
  EXPECT_EQ(found.sides[0].right, 2);
  EXPECT_EQ(found.sides[1].right, 2);
  EXPECT_EQ(found.right_both, 1);
  EXPECT_EQ(found.right_neither, 1);
  EXPECT_THAT(comparison_to_text(found),
              HasSubstr("right         2 (50.0 %) -> 2 (50.0 %) of 4 rows of the key\n"
                        "              1 in both, 1 only in the first, 1 only in the second, 1 in "
                        "neither\n"));
  write("key.jsonl", "{\"custom_id\": \"1\"}\n");
  EXPECT_THAT(error({.key = "key.jsonl"}), HasSubstr("key.jsonl: line 1 is no line of a key"));
  EXPECT_NE(error({.key = "none.jsonl"}), "compared");
}

TEST_F(CompareTest, VectorsThatDifferHaveAnAngle) {
  const auto vector = [](std::string_view numbers) {
    return fmt::format(
        R"({{"custom_id":"1","response":{{"status_code":200,"body":{{"object":"list",)"
        R"("data":[{{"index":0,"embedding":[{}]}}]}}}},"error":null}})"
        "\n",
        numbers);
  };
  write("a.jsonl", vector("1.0,0.0"));
  write("b.jsonl", vector("1.0,0.001"));
  const Comparison found = compare();
  EXPECT_EQ(found.different, 1);
  ASSERT_TRUE(found.cosine_min.has_value());
  EXPECT_NEAR(*found.cosine_min, 1, 1e-6);
  EXPECT_THAT(comparison_to_text(found), HasSubstr("vectors       1 different; cosine 1.0"));
}

TEST_F(CompareTest, OfOtherProgramsAndOfJobs) {
  using batch::testing::row_line;
  ASSERT_TRUE(batch::testing::run_job(
                  disk_, {.input = row_line("a", "1") + row_line("b", "bad") + "rubbish\n"})
                  .completed());
  // As OpenAI writes it: without our members, and perhaps without the last line end.
  write("b.jsonl",
        R"({"id":"batch_req_9","custom_id":"a","response":{"status_code":200,"request_id":"q",)"
        R"("body":{"id":"cmpl-1","object":"text_completion","choices":[{"text":"echo 1",)"
        R"("index":0,"finish_reason":"stop","logprobs":null}]}},"error":null})");
  const auto done = compare_results(disk_, "r.jsonl", "b.jsonl", {});
  ASSERT_TRUE(done.has_value()) << done.error().message;
  EXPECT_EQ(done->equal, 1);
  EXPECT_EQ(done->rows_only[0], 2);
  EXPECT_THAT(done->ids_only[0], UnorderedElementsAre("b", "(a line without custom_id)"));
}

TEST_F(CompareTest, WhatCannotBeCompared) {
  write("a.jsonl", answer("1", "yes"));
  EXPECT_THAT(error(), HasSubstr("b.jsonl"));
  write("b.jsonl", "my notes\n{\"a\": 1}\n");
  EXPECT_THAT(error(), HasSubstr("b.jsonl: no line is a result; name what `windrow run` wrote"));
  write("b.jsonl", "my notes\n" + answer("1", "yes"));
  EXPECT_EQ(compare().sides[1].odd_lines, 1);
  EXPECT_THAT(comparison_to_text(compare()), HasSubstr("1 rows, 0 failed; 1 lines are no results"));
  write("b.jsonl", "");
  EXPECT_EQ(compare().rows_only[0], 1);
}

TEST(IsRight, ComparesJsonAsValues) {
  EXPECT_TRUE(is_right(" a b\n", "a b"));
  EXPECT_FALSE(is_right("a  b", "a b"));
  EXPECT_TRUE(is_right("{\"a\": 1, \"b\": [2]}", "{\"b\":[2],\"a\":1}"));
  EXPECT_FALSE(is_right("{\"a\": [1, 2]}", "{\"a\": [2, 1]}"));
  EXPECT_FALSE(is_right("", "x"));
  EXPECT_TRUE(is_right("", " "));
}

}  // namespace
}  // namespace windrow::report
