// Records of CSV, TSV, JSON and text, in pieces of any size. tests/tables compares with Python's
// csv.
#include "table/record_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "batch/testing/memory_input.h"

namespace windrow::table {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// "LINE {values}" for each record, "LINE! message" for one with a problem, then "error: ...".
std::vector<std::string> records(const std::string& text, const ReadOptions& options = {},
                                 size_t piece_bytes = 65536) {
  batch::testing::MemoryInput input(text, {.piece_bytes = piece_bytes});
  ReadOptions of_csv = options;
  if (!of_csv.format) of_csv.format = RecordFormat::kCsv;
  const auto reader = open_records(input, of_csv);
  if (!reader) return {"error: " + reader.error().message};
  std::vector<std::string> found;
  for (;;) {
    const auto record = (*reader)->next();
    if (!record) {
      found.push_back("error: " + record.error().message);
      return found;
    }
    if (!*record) return found;
    EXPECT_EQ((*record)->number, found.size() + 1);
    found.push_back(std::to_string((*record)->line) +
                    ((*record)->problem ? "! " + (*record)->problem->message
                                        : " " + boost::json::serialize((*record)->values)));
  }
}

std::vector<std::string> of_json(const std::string& text, RecordFormat format,
                                 size_t piece_bytes = 65536) {
  return records(text, {.format = format}, piece_bytes);
}

TEST(Csv, IsThatOfRfc4180) {
  const std::string text =
      "a,b\r\n"
      "1,2\r\n"
      "\"x,y\",\"say \"\"hi\"\"\"\r\n"
      "\"two\r\nlines\", kept \r\n"
      ",\"\"\r\n"
      "last,one";
  const auto wanted = ElementsAre(R"(2 {"a":"1","b":"2"})", R"(3 {"a":"x,y","b":"say \"hi\""})",
                                  R"(4 {"a":"two\r\nlines","b":" kept "})", R"(6 {"a":"","b":""})",
                                  R"(7 {"a":"last","b":"one"})");
  for (const size_t piece : {size_t{1}, size_t{2}, size_t{3}, size_t{7}, size_t{1000}})
    EXPECT_THAT(records(text, {}, piece), wanted) << piece;
}

TEST(Csv, AcceptsWhatHasOneMeaning) {
  EXPECT_THAT(records("\xEF\xBB\xBF\"a\",b\n1,2\n"), ElementsAre(R"(2 {"a":"1","b":"2"})"));
  EXPECT_THAT(records("a,b\r1,2\r3,4\r"),
              ElementsAre(R"(2 {"a":"1","b":"2"})", R"(3 {"a":"3","b":"4"})"));
  EXPECT_THAT(records("\n\na,b\n\n1,2\n\n\n3,4\n"),
              ElementsAre(R"(5 {"a":"1","b":"2"})", R"(8 {"a":"3","b":"4"})"));
  EXPECT_THAT(records("a,b\n5\" pipe,6\"\n"), ElementsAre(R"(2 {"a":"5\" pipe","b":"6\""})"));
  EXPECT_THAT(records("a,b\n\"1\" ,\"2\"\t\n"), ElementsAre(R"(2 {"a":"1","b":"2"})"));
  EXPECT_THAT(records("a , b\n1,2\n"), ElementsAre(R"(2 {"a":"1","b":"2"})"));
  EXPECT_THAT(records("only\n\"\"\nx\n"), ElementsAre(R"(2 {"only":""})", R"(3 {"only":"x"})"));
}

TEST(Csv, FindsItsDelimiterOrIsTold) {
  EXPECT_THAT(records("a;b\n1,5;2\n"), ElementsAre(R"(2 {"a":"1,5","b":"2"})"));
  EXPECT_THAT(records("a\tb\n1\t2\n"), ElementsAre(R"(2 {"a":"1","b":"2"})"));
  EXPECT_THAT(records("\"a,b,c\";d\n1;2\n"), ElementsAre(R"(2 {"a,b,c":"1","d":"2"})"));
  EXPECT_THAT(records("\n\na;b\n1;2\n"), ElementsAre(R"(4 {"a":"1","b":"2"})"));
  EXPECT_THAT(records("a;b,c\n1;2,3\n", {.delimiter = ','}),
              ElementsAre(R"(2 {"a;b":"1;2","c":"3"})"));
}

TEST(Csv, ABadRecordCostsOneRow) {
  const auto found = records("a,b\n1\n1,2,3\n\"x\"y,2\n1,2\n\xFF,2\n\"in\nside\" \"z,\n3,4\n");
  ASSERT_EQ(found.size(), 7U);
  EXPECT_THAT(found[0],
              HasSubstr("2! line 2 has 1 value, and the first line names 2 columns: a, b"));
  EXPECT_THAT(found[1], HasSubstr("3! line 3 has 3 values"));
  EXPECT_THAT(found[1], HasSubstr("a value with a comma in it has to be in quotes"));
  EXPECT_THAT(found[2], HasSubstr("4! line 4 has a value in quotes that goes on"));
  EXPECT_EQ(found[3], R"(5 {"a":"1","b":"2"})");
  EXPECT_THAT(found[4], HasSubstr("6! line 6 has a value of a that is not UTF-8"));
  EXPECT_THAT(found[5], HasSubstr("7! line 8 has a value in quotes that goes on"));
  EXPECT_EQ(found[6], R"(9 {"a":"3","b":"4"})");
}

TEST(Csv, AQuoteThatIsNotClosedEndsTheInput) {
  const auto found = records("a,b\n1,2\n3,\"4\n5,6\n7,8\n");
  ASSERT_EQ(found.size(), 2U);
  EXPECT_THAT(found[1], HasSubstr("error: requests.jsonl: line 3: the quote that begins a value is "
                                  "not closed"));
  const auto longer =
      records("a,b\n1,2\n3,\"" + std::string(100'000, 'x'), {.record_bytes_max = 50'000}, 1000);
  EXPECT_THAT(longer.back(), HasSubstr("line 3: the record that begins here is longer than"));
}

TEST(Csv, NeedsNamesOfColumns) {
  EXPECT_THAT(records(""), ElementsAre(HasSubstr("its first one has to name the columns")));
  EXPECT_THAT(records("a,,c\n"), ElementsAre(HasSubstr("line 1: column 2 has no name")));
  EXPECT_THAT(records("a,b,a\n"), ElementsAre(HasSubstr("two columns have the name \"a\"")));
  EXPECT_THAT(records("a,\xE9\n"), ElementsAre(HasSubstr("the name of column 2 is not UTF-8")));
  EXPECT_THAT(records("\xFF\xFE"
                      "a\n"),
              ElementsAre(HasSubstr("UTF-16")));
  EXPECT_THAT(records("PAR1...."), ElementsAre(HasSubstr("duckdb")));
  EXPECT_THAT(records("a,b\n"), IsEmpty());
}

TEST(JsonArray, GivesItsElements) {
  const std::string text =
      "\xEF\xBB\xBF [\n {\"a\": 1, \"b\": [1, {\"c\": \"],}\\\"\"}]},\n {\"a\": null}, {}\n]\n ";
  for (const size_t piece : {size_t{1}, size_t{5}, size_t{1000}}) {
    EXPECT_THAT(of_json(text, RecordFormat::kJsonArray, piece),
                ElementsAre(R"(1 {"a":1,"b":[1,{"c":"],}\""}]})", R"(2 {"a":null})", "3 {}"));
  }
  EXPECT_THAT(of_json("[]", RecordFormat::kJsonArray), IsEmpty());
}

TEST(JsonArray, SaysWhatIsWrongAndWhere) {
  const auto found = of_json("[{\"a\":1},\n7,\n{\"a\":nul},{\"a\":2}]", RecordFormat::kJsonArray);
  ASSERT_EQ(found.size(), 4U);
  EXPECT_THAT(found[1], HasSubstr("2! record 2 (line 2) is a number"));
  EXPECT_THAT(found[2], HasSubstr("3! record 3 (line 3) is not JSON"));
  EXPECT_EQ(found[3], R"(4 {"a":2})");
  EXPECT_THAT(of_json("[{},\n", RecordFormat::kJsonArray).back(),
              HasSubstr("line 2: the array of records does not end"));
  EXPECT_THAT(of_json("[{},,{}]", RecordFormat::kJsonArray).back(),
              HasSubstr("there is a comma and no record before it"));
  EXPECT_THAT(of_json("[{},]", RecordFormat::kJsonArray).back(), HasSubstr("no record after it"));
  EXPECT_THAT(of_json("[{}] {}", RecordFormat::kJsonArray).back(),
              HasSubstr("something follows the array"));
  EXPECT_THAT(of_json("[{}}]", RecordFormat::kJsonArray).back(),
              HasSubstr("a bracket closes that was not opened"));
  EXPECT_THAT(of_json("{\"a\":[]}", RecordFormat::kJsonArray).back(),
              HasSubstr("an array of records begins with ["));
}

TEST(Lines, AreObjectsOrText) {
  EXPECT_THAT(of_json("{\"a\":1}\n\n[1]\n{\"a\":\n", RecordFormat::kJsonLines),
              ElementsAre(R"(1 {"a":1})", HasSubstr("3! line 3 is an array"),
                          HasSubstr("4! line 4 is not JSON")));
  EXPECT_THAT(of_json("one\r\n\n two\n", RecordFormat::kText),
              ElementsAre(R"(1 {"text":"one"})", R"(3 {"text":" two"})"));
}

TEST(Formats, AreFoundByNameThenByTheFirstBytes) {
  EXPECT_EQ(format_of_name("x/a.csv"), RecordFormat::kCsv);
  EXPECT_EQ(format_of_name("a.tsv.gz"), RecordFormat::kCsv);
  EXPECT_EQ(format_of_name("a.ndjson.zst"), RecordFormat::kJsonLines);
  EXPECT_EQ(format_of_name("a.txt"), RecordFormat::kText);
  EXPECT_EQ(format_of_name("a.data"), std::nullopt);
  EXPECT_TRUE(name_says_tabs("a.tsv.gz"));
  EXPECT_FALSE(name_says_tabs("a.csv"));
  // The input of these tests is called requests.jsonl.
  for (const auto& [text, format] : {std::pair("[{}]", RecordFormat::kJsonArray),
                                     std::pair(" \n{}", RecordFormat::kJsonLines)}) {
    batch::testing::MemoryInput input(text);
    const auto reader = open_records(input, {});
    ASSERT_TRUE(reader);
    EXPECT_EQ((*reader)->format(), format) << text;
  }
}

TEST(Reading, EndsWhenInterrupted) {
  batch::testing::MemoryInput input("a,b\n1,2\n3,4\n");
  const auto reader = open_records(input, {.format = RecordFormat::kCsv});
  ASSERT_TRUE(reader);
  (*reader)->interrupt();
  const auto record = (*reader)->next();
  ASSERT_TRUE(record);
  EXPECT_FALSE(*record);
}

// Any bytes are records, problems and errors, the same in pieces of any size. WINDROW_FUZZ_SECONDS
// makes it run for that long.
TEST(RecordReaderFuzz, DoesNotDependOnThePieces) {
  const SystemClock clock;
  const char* seconds = std::getenv("WINDROW_FUZZ_SECONDS");
  const TimePoint until =
      clock.now() + std::chrono::seconds(seconds != nullptr ? std::atoi(seconds) : 0);
  constexpr std::string_view kBytes = ",;\"\"\"\n\n\r\t ab1{}[]:\\\xC3\xA9";
  for (uint64_t seed = 0; seed < 1500 || (seconds != nullptr && clock.now() < until); ++seed) {
    Random random(seed);
    std::string text = random.chance(0.5) ? "a,b\n" : random.chance(0.5) ? "[" : "";
    for (int64_t size = random.between(0, 60); size > 0; --size)
      text += kBytes[random.below(kBytes.size())];
    for (const RecordFormat format : {RecordFormat::kCsv, RecordFormat::kJsonArray,
                                      RecordFormat::kJsonLines, RecordFormat::kText}) {
      const ReadOptions options{.format = format, .record_bytes_max = 40};
      const auto whole = records(text, options);
      const auto pieces = records(text, options, 1 + random.below(9));
      // A record that is too long is noticed where a piece ends.
      const auto too_long = [](const std::vector<std::string>& found) {
        return !found.empty() && found.back().find("is longer than") != std::string::npos;
      };
      if (too_long(whole) || too_long(pieces)) continue;
      ASSERT_EQ(whole, pieces) << "seed " << seed << ": " << text;
    }
  }
}

}  // namespace
}  // namespace windrow::table
