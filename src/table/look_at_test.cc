#include "table/look_at.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "batch/testing/memory_input.h"

namespace windrow::table {
namespace {

using ::testing::HasSubstr;

Contents contents(std::string_view front, std::string_view name = "in.jsonl") {
  return contents_of(front, true, name);
}

TEST(Contents, OfRequestsWhateverIsWrongWithSomeOfThem) {
  EXPECT_EQ(contents(R"({"custom_id":"a","url":"/v1/completions","body":{}})"),
            Contents::kRequests);
  EXPECT_EQ(contents("garbage\n{\"custom_id\":\"a\"}\n"), Contents::kRequests);
  EXPECT_EQ(contents("{\"a\":\n"), Contents::kRequests);
  EXPECT_EQ(contents("{\n  \"a\": 1\n}\n"), Contents::kRequests);
  EXPECT_EQ(contents("{}\n"), Contents::kRequests);
  EXPECT_EQ(contents(""), Contents::kRequests);
  EXPECT_EQ(contents("\n \n"), Contents::kRequests);
  EXPECT_EQ(contents("[1, 2]\n"), Contents::kRequests);
  EXPECT_EQ(contents(std::string_view("a\0b", 3)), Contents::kRequests);
  EXPECT_EQ(contents("{\"custom_id\":\"a\",\"input\":1}"), Contents::kRequests);
}

TEST(Contents, OfTables) {
  EXPECT_EQ(contents("a,b\n1,2\n"), Contents::kCsv);
  EXPECT_EQ(contents("a;b;c\r\n1;2;3\r\n4;5;6"), Contents::kCsv);
  EXPECT_EQ(contents("title\nx\n", "a.csv.gz"), Contents::kCsv);
  EXPECT_EQ(contents("\xEF\xBB\xBF[\n{\"a\":1}\n]"), Contents::kJsonArray);
  EXPECT_EQ(contents("[{\"custom_id\":\"a\",\"body\":{}}]"), Contents::kRequestArray);
  EXPECT_EQ(contents("{\"a\":1}\n{\"a\":2}\n"), Contents::kJsonLines);
  EXPECT_EQ(contents("What is this?\nAnd this, please?\n"), Contents::kText);
}

std::string message(const std::string& text) {
  batch::testing::MemoryInput input(text);
  const Result<void> checked = check_requests(input);
  return checked ? "requests" : checked.error().message;
}

TEST(CheckRequests, SaysWhichCommandReadsWhatIsNone) {
  EXPECT_EQ(message("sku,title\n1,x\n"),
            "requests.jsonl is a CSV file with the columns sku, title, and not a file of requests. "
            "Say what to ask about each record, for instance windrow run requests.jsonl --id 'sku' "
            "--prompt 'Classify: {{ title }}' -o answers.csv");
  EXPECT_THAT(message("[{\"full name\": 1}]"),
              HasSubstr("--prompt 'Classify: {{ record[\"full name\"] }}'"));
  EXPECT_THAT(message("[{\"custom_id\": \"a\", \"body\": {}}]"), HasSubstr("jq -c '.[]'"));
  EXPECT_THAT(message("some words\n"), HasSubstr("is a text, and not a file of requests"));
  EXPECT_THAT(message("PAR1\x15\x04"), HasSubstr("Parquet"));
  EXPECT_EQ(message("{\"custom_id\":\"a\"}"), "requests");
}

}  // namespace
}  // namespace windrow::table
