#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "check_answers/key_line.h"
#include "check_answers/result_line.h"

namespace windrow::check_answers {
namespace {

TEST(KeyLine, HasThreeTexts) {
  const auto key = read_key_line(R"({"custom_id":"sort-1","task":"sort","answer":"1 2","more":0})");
  ASSERT_TRUE(key);
  EXPECT_EQ(key->custom_id, "sort-1");
  EXPECT_EQ(key->task, "sort");
  EXPECT_EQ(key->answer, "1 2");
}

TEST(KeyLine, SaysWhatIsWrongWithAnother) {
  EXPECT_EQ(read_key_line("sort").error().message, "this line is no JSON object");
  EXPECT_EQ(read_key_line("[]").error().message, "this line is no JSON object");
  EXPECT_EQ(read_key_line(R"({"custom_id":"a","task":"sort"})").error().message,
            "this line has no text \"answer\"");
  EXPECT_EQ(read_key_line(R"({"custom_id":1,"task":"sort","answer":"a"})").error().message,
            "this line has no text \"custom_id\"");
}

TEST(ResultLine, HasTheTextOfTheFirstChoice) {
  const auto line = read_result_line(
      R"({"id":"batch_req_1","custom_id":"sort-1","response":{"status_code":200,"body":{"choices":[
          {"index":0,"message":{"role":"assistant","content":"1 2"}},
          {"index":1,"message":{"role":"assistant","content":"3"}}]}},"error":null})");
  ASSERT_TRUE(line);
  EXPECT_EQ(line->custom_id, "sort-1");
  EXPECT_EQ(line->answer, "1 2");
}

TEST(ResultLine, ACallOfAToolIsTheAnswerWhereNothingIsSaid) {
  const auto line = read_result_line(
      R"({"custom_id":"a","response":{"body":{"choices":[{"message":{"content":null,"tool_calls":[
          {"id":"c","function":{"name":"f","arguments":"{\"a\": 1}"}}]}}]}}})");
  ASSERT_TRUE(line);
  EXPECT_EQ(line->answer, R"({"name": "f", "arguments": {"a": 1}})");
}

TEST(ResultLine, OfAFailedRowHasNoAnswer) {
  for (const std::string_view text :
       {R"({"custom_id":"a","response":{"status_code":400,"body":{"error":{}}},"error":{}})",
        R"({"custom_id":"a","response":null,"error":{"code":"x"}})",
        R"({"custom_id":"a","response":{"body":{"choices":[{"message":{"content":null}}]}}})",
        R"({"custom_id":"a","response":{"body":{"choices":[]}}})"}) {
    const auto line = read_result_line(text);
    ASSERT_TRUE(line) << text;
    EXPECT_EQ(line->custom_id, "a");
    EXPECT_FALSE(line->answer) << text;
  }
  EXPECT_EQ(read_result_line(R"({"custom_id":null,"response":null})")->custom_id, "");
}

TEST(ResultLine, AnotherLineIsRefused) {
  EXPECT_EQ(read_result_line(R"({"custom_id":"a","resp)").error().message,
            "this line is no JSON object");
  EXPECT_EQ(read_result_line(R"({"custom_id":"a","body":{}})").error().message,
            "this line is no line of a result file");
}

}  // namespace
}  // namespace windrow::check_answers
