// Answers of servers elsewhere that have to fit a JSON Schema: judged by the program, tried again,
// and given up with the place that is wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <string>
#include <vector>

#include "end_to_end/job_folder.h"
#include "end_to_end/process.h"
#include "end_to_end/sim_upstream.h"

namespace windrow::end_to_end {
namespace {

namespace json = boost::json;

using ::testing::HasSubstr;

const json::object kSchema = {
    {"type", "object"}, {"properties", {{"age", {{"type", "integer"}}}}}, {"required", {"age"}}};

json::object asking_for(const json::value& schema) {
  return {{"response_format",
           {{"type", "json_schema"}, {"json_schema", {{"name", "it"}, {"schema", schema}}}}}};
}

std::string rows(int count, const json::object& body) {
  std::string text;
  for (int i = 0; i < count; ++i)
    text += chat_line("row-" + std::to_string(i), "number " + std::to_string(i), body);
  return text;
}

Words job(const SimUpstream& server, Words more = {}) {
  Words words{"run", "requests.jsonl", "-o", "results.jsonl", "--upstream", server.url()};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

Words answering(Words more) {
  more.insert(more.begin(), {"--token-ms", "1", "--answer-tokens", "4", "--slots", "8"});
  return more;
}

class SchemaAnswers : public ::testing::Test {
 protected:
  JobFolder folder_;
};

TEST_F(SchemaAnswers, WhatDoesNotFitIsTriedAgainUntilItDoes) {
  SimUpstream server(folder_, answering({"--fault", "schema=0.3", "--seed", "5"}));
  folder_.write("requests.jsonl", rows(30, asking_for(kSchema)));
  const Ended ended = folder_.windrow(job(server, {"--max-attempts", "12"}));
  EXPECT_EQ(ended.code, 0) << ended;
  EXPECT_THAT(ended.errors, HasSubstr("/type of the schema"));
  const std::vector<LogLine> log = read_log(folder_, "results.jsonl");
  ASSERT_EQ(log.size(), 30U);
  int again = 0;
  for (const LogLine& line : log) {
    const json::value& choice = line.json.at("response").at("body").at("choices").at(0);
    const json::value answer = json::parse(choice.at("message").at("content").as_string());
    EXPECT_TRUE(answer.at("age").is_int64()) << line.json;
    if (line.json.at("windrow").at("attempts").as_int64() == 1) continue;
    ++again;
    EXPECT_THAT(member(line.json, "windrow.earlier_failure"), HasSubstr("/type of the schema"));
  }
  EXPECT_GT(again, 0) << "the test means nothing";
}

TEST_F(SchemaAnswers, WhatNeverFitsFailsWithThePlaceAndTheAnswer) {
  SimUpstream server(folder_, answering({"--fault", "schema=1"}));
  std::string text;
  text += chat_line("format", "hi", asking_for(kSchema));
  text += chat_line("guided", "hi", {{"guided_json", kSchema}});
  text += chat_line("newer", "hi", {{"structured_outputs", {{"json", kSchema}}}});
  folder_.write("requests.jsonl", text);
  const Ended ended = folder_.windrow(job(server, {"--max-attempts", "2"}));
  EXPECT_EQ(ended.code, 1) << ended;
  const std::vector<LogLine> errors = read_log(folder_, "results.errors.jsonl");
  ASSERT_EQ(errors.size(), 3U);
  for (const LogLine& line : errors) {
    const json::object& error = line.json.at("error").as_object();
    EXPECT_EQ(error.at("code"), "invalid_structured_output");
    const std::string message(error.at("message").as_string());
    EXPECT_THAT(message, HasSubstr("the answer is an array, not an object: [{\"age\":"));
    EXPECT_THAT(message, HasSubstr("(/type of the schema)"));
    EXPECT_EQ(member(line.json, "windrow.attempts"), "2");
  }
}

TEST_F(SchemaAnswers, ASchemaThatCannotBeJudgedIsSaidOnceAndItsRowsAreSent) {
  SimUpstream server(folder_, answering({"--fault", "schema=1"}));
  json::object schema = kSchema;
  schema["properties"].as_object()["name"] = {{"type", "string"}, {"pattern", "(?=a)b"}};
  folder_.write("requests.jsonl", rows(20, asking_for(schema)));
  const Ended ended = folder_.windrow(job(server));
  EXPECT_EQ(ended.code, 0) << ended;
  EXPECT_EQ(read_log(folder_, "results.jsonl").size(), 20U);
  const std::string place = "at #/properties/name/pattern: the pattern: lookahead is not supported";
  const size_t first = ended.errors.find(place);
  ASSERT_NE(first, std::string::npos) << ended;
  EXPECT_EQ(ended.errors.find(place, first + 1), std::string::npos) << ended;
}

}  // namespace
}  // namespace windrow::end_to_end
