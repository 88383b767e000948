#include "table/table_export.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "batch/job_paths.h"
#include "batch/result_line.h"
#include "batch/row.h"
#include "batch/testing/memory_input.h"
#include "store/testing/memory_disk.h"
#include "table/answer_cells.h"

namespace windrow::table {
namespace {

using ::testing::HasSubstr;

batch::RowKey key_of(uint64_t line, const std::string& id) {
  return {.line = line, .custom_id = id, .identity = batch::row_identity(id), .fingerprint = line};
}

std::string answered(uint64_t line, const std::string& id, std::string text) {
  llm::Answer answer;
  answer.choices = {{.text = std::move(text)}};
  return batch::result_line(key_of(line, id), llm::Endpoint::kCompletions, "m", answer, {}, 0);
}

std::string failed(uint64_t line, const std::string& id, bool of_line = false) {
  return batch::error_line({.key = key_of(line, id),
                            .failure = {.status = 400, .code = "bad", .message = "it is, \"bad\""},
                            .of_line = of_line},
                           {});
}

struct Exported {
  std::string text;
  std::string error;
  TableReport report;
};

Exported exported(store::Disk& disk, TableFormat format, TableJob job) {
  job.paths = *batch::job_paths("r.jsonl");
  Exported result;
  const auto report = write_table(
      disk, job, format,
      [&](std::string_view bytes) -> Result<void> {
        result.text += bytes;
        return {};
      },
      [] { return false; });
  if (report) {
    result.report = *report;
  } else {
    result.error = report.error().message;
  }
  return result;
}

Exported of_csv(store::Disk& disk, const std::string& text, TableFormat format,
                bool structured = false) {
  batch::testing::MemoryInput input(text);
  return exported(disk, format,
                  {.input = input,
                   .read = {.format = RecordFormat::kCsv},
                   .id_column = "id",
                   .structured = structured});
}

TEST(Export, PutsAnswersBesideTheRecordsInTheirOrder) {
  store::testing::MemoryDisk disk;
  disk.put("r.jsonl", answered(4, "c", "three") + answered(2, "a", "one, \"1\"") + "{\"id\":\"bat");
  disk.put("r.errors.jsonl", failed(3, "b") + failed(5, "", true));
  const std::string input = "id,x\na,1\nb,\"2,5\"\nc,3\nd\ne,5\n";
  const Exported csv = of_csv(disk, input, TableFormat::kCsv);
  EXPECT_EQ(csv.error, "");
  EXPECT_EQ(csv.text,
            "id,x,answer,finish_reason,error\n"
            "a,1,\"one, \"\"1\"\"\",stop,\n"
            "b,\"2,5\",,,\"bad: it is, \"\"bad\"\"\"\n"
            "c,3,three,stop,\n"
            "d,,,,\"bad: it is, \"\"bad\"\"\"\n");
  EXPECT_EQ(csv.report.rows, 4);
  EXPECT_EQ(csv.report.failed, 2);
  EXPECT_EQ(csv.report.waiting, 1);
  const Exported json = of_csv(disk, input, TableFormat::kJson);
  const auto rows = boost::json::parse(json.text).as_array();
  ASSERT_EQ(rows.size(), 4U);
  EXPECT_EQ(rows.at(1).at("x"), "2,5");
  EXPECT_TRUE(rows.at(1).at("answer").is_null());
  EXPECT_EQ(rows.at(2).at("answer"), "three");
}

TEST(Export, OfTwoOutcomesTakesTheResultElseTheLastFailure) {
  store::testing::MemoryDisk disk;
  disk.put("r.jsonl", answered(2, "a", "one"));
  disk.put("r.errors.jsonl", failed(2, "a") + failed(3, "b") + failed(3, "b"));
  const Exported csv = of_csv(disk, "id\na\nb\n", TableFormat::kCsv);
  EXPECT_EQ(csv.report.failed, 1);
  EXPECT_THAT(csv.text, HasSubstr("a,one,stop,\n"));
}

TEST(Export, OfALineThatWasCorrectedTakesTheRow) {
  store::testing::MemoryDisk disk;
  disk.put("r.jsonl", answered(2, "a", "one") + answered(3, "b", "two"));
  disk.put("r.errors.jsonl",
           failed(3, "", true) + failed(4, "a", true) + failed(5, "", true) + failed(6, "", true));
  // Line 4 has the id of line 2, and line 5 has it and too many values.
  const Exported csv = of_csv(disk, "id\na\nb\na\na,1\n", TableFormat::kCsv);
  EXPECT_EQ(csv.text,
            "id,answer,finish_reason,error\n"
            "a,one,stop,\n"
            "b,two,stop,\n"
            "a,,,\"bad: it is, \"\"bad\"\"\"\n"
            "a,,,\"bad: it is, \"\"bad\"\"\"\n");
  // A line was put in front of a row that was answered before.
  EXPECT_THAT(of_csv(disk, "id\na\n\n\n\nb\n", TableFormat::kCsv).text, HasSubstr("b,two,stop,\n"));
}

TEST(Export, MakesColumnsOfStructuredAnswers) {
  store::testing::MemoryDisk disk;
  disk.put("r.jsonl", answered(2, "a", R"({"label":"x","id":7,"why":[1]})") +
                          answered(3, "b", R"({"label":true})"));
  const std::string input = "id,label\na,1\nb,2\n";
  EXPECT_THAT(of_csv(disk, input, TableFormat::kCsv, true).text,
              HasSubstr("id,label,answer,answer_label,answer_id,why,finish_reason,error\n"));
  EXPECT_THAT(of_csv(disk, input, TableFormat::kCsv, true).text, HasSubstr(",x,7,[1],stop,\n"));
  const auto rows =
      boost::json::parse(of_csv(disk, input, TableFormat::kJson, true).text).as_array();
  EXPECT_EQ(rows.at(0).at("why"), boost::json::array{1});
  EXPECT_TRUE(rows.at(1).at("why").is_null());
  EXPECT_THAT(of_csv(disk, input, TableFormat::kCsv, false).text,
              HasSubstr("id,label,answer,finish_reason,error\n"));
}

TEST(Export, KeepsEveryColumnOrSaysThatThereAreTooMany) {
  store::testing::MemoryDisk disk;
  disk.put("r.jsonl", answered(2, "a", "one"));
  const auto wide = [&](int columns) {
    std::string names = "id";
    std::string values = "a";
    for (int i = 1; i < columns; ++i) {
      names += fmt::format(",c{}", i);
      values += ",v";
    }
    return of_csv(disk, fmt::format("{}\n{}\n", names, values), TableFormat::kCsv);
  };
  EXPECT_THAT(wide(3000).text, HasSubstr(",c2999,answer,finish_reason,error\n"));
  EXPECT_THAT(wide(10'001).error, HasSubstr("10,000 columns or more"));
}

TEST(Export, OfRequestsHasTheirIds) {
  store::testing::MemoryDisk disk;
  disk.put("r.jsonl", answered(1, "a", "one") + answered(3, "b", "two"));
  disk.put("r.errors.jsonl", failed(2, "", true));
  const std::string text =
      "{\"custom_id\":\"a\",\"body\":{}}\nnot json\n{\"custom_id\":\"b\",\"body\":{}}\n";
  batch::testing::MemoryInput input(text);
  const Exported csv = exported(disk, TableFormat::kTsv, {.input = input, .of_requests = true});
  EXPECT_EQ(csv.text,
            "custom_id\tanswer\tfinish_reason\terror\n"
            "a\tone\tstop\t\n\t\t\t\"bad: it is, \"\"bad\"\"\"\nb\ttwo\tstop\t\n");
}

TEST(Export, OfEmbeddingsIsAnArrayOfNumpy) {
  store::testing::MemoryDisk disk;
  const auto embedded = [](uint64_t line, const std::string& id, std::vector<float> numbers) {
    llm::Answer answer;
    answer.embeddings = {std::move(numbers)};
    return batch::result_line(key_of(line, id), llm::Endpoint::kEmbeddings, "m", answer, {}, 0);
  };
  disk.put("r.jsonl", embedded(4, "c", {3, 0.1F}) + embedded(2, "a", {1, -2}));
  disk.put("r.errors.jsonl", failed(3, "b"));
  const std::string input = "id\na\nb\nc\nd\n";
  const Exported npy = of_csv(disk, input, TableFormat::kNpy);
  ASSERT_EQ(npy.error, "");
  ASSERT_EQ(npy.text.size(), 128U + 3 * 2 * sizeof(float));
  EXPECT_EQ(npy.text.substr(0, 8), std::string("\x93NUMPY\x01\x00", 8));
  EXPECT_EQ(npy.text.substr(8, 2), std::string("\x76\x00", 2));
  EXPECT_THAT(npy.text, HasSubstr("{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2), }"));
  std::vector<float> numbers(6);
  std::memcpy(numbers.data(), npy.text.data() + 128, 6 * sizeof(float));
  EXPECT_EQ(numbers[0], 1);
  EXPECT_EQ(numbers[1], -2);
  EXPECT_TRUE(std::isnan(numbers[2]) && std::isnan(numbers[3]));
  EXPECT_EQ(numbers[5], 0.1F);
  EXPECT_EQ(npy.report.failed, 1);
  EXPECT_EQ(npy.report.waiting, 1);
  EXPECT_THAT(of_csv(disk, input, TableFormat::kCsv).text, HasSubstr("c,\"[3.0,0.1]\",,\n"));
}

TEST(Export, RefusesWhatDoesNotBelongTogether) {
  store::testing::MemoryDisk disk;
  EXPECT_THAT(of_csv(disk, "id\na\n", TableFormat::kCsv).error, HasSubstr("there are no results"));
  disk.put("r.jsonl", answered(2, "a", "one"));
  EXPECT_THAT(of_csv(disk, "id\nb\n", TableFormat::kCsv).error,
              HasSubstr("no record of requests.jsonl has an outcome in r.jsonl"));
  EXPECT_THAT(of_csv(disk, "id\na\n", TableFormat::kNpy).error, HasSubstr("has no embedding"));
  disk.put("r.jsonl", "{\"a\":1}\n");
  EXPECT_THAT(of_csv(disk, "id\na\n", TableFormat::kCsv).error,
              HasSubstr("r.jsonl: line 1 is not a line of a job"));
}

AnswerCells cells(std::string_view body) {
  const auto line = boost::json::parse(
      fmt::format(R"({{"response":{{"status_code":200,"body":{}}},"error":null}})", body));
  return read_answer(line.get_object(), false);
}

TEST(AnswerCells, AreThoseOfEveryApi) {
  EXPECT_EQ(cells(R"({"choices":[{"message":{"content":"x"},"finish_reason":"length"}]})").answer,
            "x");
  EXPECT_EQ(cells(R"({"choices":[{"text":"x"},{"text":"y"}]})").answer,
            (boost::json::array{"x", "y"}));
  EXPECT_EQ(cells(R"({"choices":[{"message":{"content":null,"tool_calls":[1]}}]})").answer,
            boost::json::array{1});
  const AnswerCells message =
      cells(R"({"type":"message","content":[{"text":"a"},{"text":"b"}],"stop_reason":"end_turn"})");
  EXPECT_EQ(message.answer, "ab");
  EXPECT_EQ(message.finish_reason, "end_turn");
  EXPECT_EQ(cells(R"({"output":[{"content":[{"text":"a"}]}],"status":"completed"})").answer, "a");
  EXPECT_EQ(cells(R"({"results":[{"index":1}]})").answer.as_array().size(), 1U);
  EXPECT_EQ(cells(R"({"object":"program.result","result":7})").answer, 7);
  // 1.0 and -2.0 as base64, and a number that no double shows as short as its float.
  EXPECT_EQ(cells(R"({"data":[{"embedding":"AACAPwAAAMA="}]})").answer,
            (boost::json::array{1.0, -2.0}));
  EXPECT_EQ(cells(R"({"data":[{"embedding":[0.1]}]})").answer, boost::json::array{0.1});
  EXPECT_EQ(cells(R"({"choices":[{"text":"{\"a\":1}","structure":"valid"}]})").members.size(), 1U);
  EXPECT_EQ(cells(R"({"choices":[{"text":"{\"a\":1}"}]})").members.size(), 0U);
}

}  // namespace
}  // namespace windrow::table
