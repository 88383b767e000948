// A schema changes no answer that follows it anyway: with the model of the repository, greedy
// answers under a schema are those without one, token for token, wherever those are valid. Every
// task whose answers are JSON, under a plain schema and under one with many keywords. The texts of
// the answers are nowhere fixed, so this holds for any model that does the tasks.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "end_to_end/job_folder.h"
#include "schema/validator.h"

namespace windrow::end_to_end {
namespace {

namespace json = boost::json;

struct JsonTask {
  std::string_view name;
  std::vector<std::string_view> schemas;
};

constexpr int kRows = 8;       // of each sample: as many as take a few seconds
constexpr int kCallRows = 12;  // of the sample of tool calls

const std::vector<JsonTask> kTasks = {
    {"screening",
     {R"({"type":"object","properties":{"years":{"type":"integer"},"missing":{"type":"array",
          "items":{"type":"string"}},"fit":{"enum":["strong","possible","weak"]}},
          "required":["years","missing","fit"]})",
      R"({"type":"object","properties":{"years":{"type":"integer","not":{"minimum":100}},
          "missing":{"type":"array","items":{"type":"string","not":{"const":""}},
          "uniqueItems":true},"fit":{"type":"string","not":{"pattern":"^[^spw]"}}},
          "required":["years","missing","fit"],"minProperties":3,
          "if":{"properties":{"missing":{"minItems":1}}},
          "then":{"properties":{"fit":{"not":{"const":"strong"}}}}})"}},
    {"extraction",
     {R"({"type":"object","properties":{"facts":{"type":"array","items":{"type":"object",
          "properties":{"entity":{"type":"string"},"fact":{"type":"string"},
          "time":{"type":"string"}},"required":["entity","fact","time"]}}},"required":["facts"]})",
      R"({"type":"object","properties":{"facts":{"type":"array","contains":{"required":["fact"]},
          "items":{"type":"object","properties":{"entity":{"type":"string","minLength":1},
          "fact":{"type":"string"},"time":{"type":"string","oneOf":[{"maxLength":0},
          {"pattern":"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"},{"pattern":"x"}]}},
          "required":["entity","fact"],"dependentRequired":{"fact":["time"]},"maxProperties":3}}},
          "required":["facts"],"not":{"required":["error"]}})"}},
    {"consolidation",
     {R"({"type":"object","properties":{"creates":{"type":"array","items":{"type":"object",
          "properties":{"text":{"type":"string"},"source_fact_ids":{"type":"array",
          "items":{"type":"string"}},"reason":{"type":"string"}},
          "required":["text","source_fact_ids","reason"]}},"updates":{"type":"array",
          "items":{"type":"object","properties":{"text":{"type":"string"},
          "observation_id":{"type":"string"},"source_fact_ids":{"type":"array",
          "items":{"type":"string"}},"reason":{"type":"string"}},
          "required":["text","observation_id","source_fact_ids","reason"]}},
          "deletes":{"type":"array","items":{"type":"object","properties":{
          "observation_id":{"type":"string"},"reason":{"type":"string"}},
          "required":["observation_id","reason"]}}},"required":["creates","updates","deletes"]})",
      R"({"type":"object","properties":{"creates":{"type":"array","items":{"type":"object",
          "properties":{"text":{"type":"string"},"source_fact_ids":{"$ref":"#/$defs/ids"},
          "reason":{"type":"string"}},"minProperties":3}},"updates":{"type":"array",
          "items":{"type":"object","properties":{"text":{"type":"string"},
          "observation_id":{"type":"string"},"source_fact_ids":{"$ref":"#/$defs/ids"},
          "reason":{"type":"string"}},"dependentRequired":{"text":["observation_id","reason"]},
          "required":["text"]}},"deletes":{"type":"array","items":{"type":"object","properties":{
          "observation_id":{"type":"string"},"reason":{"type":"string"}},
          "required":["observation_id"],"propertyNames":{"not":{"const":"text"}}}}},
          "required":["creates","updates","deletes"],
          "$defs":{"ids":{"type":"array","items":{"type":"string"},"uniqueItems":true}}})"}},
    {"sum",
     {R"({"type":"object","properties":{"steps":{"type":"array","items":{"type":"integer"}},
          "sum":{"type":"integer"}},"required":["steps","sum"]})",
      R"({"type":"object","properties":{"steps":{"type":"array","items":{"type":"number",
          "not":{"type":"string"},"oneOf":[{"minimum":0},{"maximum":-1000}]}},
          "sum":{"type":"integer","not":{"multipleOf":1000}}},
          "oneOf":[{"required":["sum"]},{"required":["total"]}],"required":["steps"]})"}}};

std::string sample(std::string_view task) {
  return fmt::format("{}/{}.jsonl", WINDROW_SAMPLES_DIR, task);
}

std::vector<json::object> rows_of(std::string_view task, int count) {
  std::ifstream lines(sample(task));
  std::vector<json::object> rows;
  for (std::string line; static_cast<int>(rows.size()) < count && std::getline(lines, line);)
    rows.push_back(json::parse(line).as_object());
  EXPECT_EQ(rows.size(), static_cast<size_t>(count)) << sample(task);
  return rows;
}

struct Said {
  std::string reasoning;
  std::string content;
  std::string calls;                // names and arguments as they were written
  std::vector<std::string> tokens;  // of the content
};

std::string text_of(const json::object& message, std::string_view name) {
  const json::value* value = message.if_contains(name);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : "";
}

Said said_in(const json::object& line) {
  const json::value whole = line;
  const json::object& choice = whole.at_pointer("/response/body/choices/0").as_object();
  Said said;
  const json::object& message = choice.at("message").as_object();
  said.reasoning = text_of(message, "reasoning_content");
  said.content = text_of(message, "content");
  if (const json::value* calls = message.if_contains("tool_calls"); calls && calls->is_array()) {
    for (const json::value& call : calls->get_array()) {
      const json::object& function = call.at("function").as_object();
      said.calls += text_of(function, "name") + " " + text_of(function, "arguments") + "\n";
    }
  }
  if (const json::value* listed = choice.if_contains("logprobs"); listed && listed->is_object()) {
    for (const json::value& token : listed->at("content").as_array())
      said.tokens.emplace_back(token.at("token").as_string());
    // Without a schema the model ends its answer by a token; with one it may be at its end without.
    if (!said.tokens.empty() && said.tokens.back().starts_with("<|")) said.tokens.pop_back();
  }
  return said;
}

// Asks all rows in one job whose answers depend on nothing but their row.
std::map<std::string, Said> answers(const std::vector<json::object>& requests) {
  JobFolder folder;
  folder.use_model(WINDROW_MODELS_DIR "/windrow-demo.gguf");
  std::string lines;
  for (const json::object& request : requests)
    lines += json::serialize(request) + "\n";
  folder.write("requests.jsonl", lines);
  const Ended ended =
      folder.windrow(exact_run("requests.jsonl", "results.jsonl", {"--keep-truncated"}));
  EXPECT_EQ(ended.code, 0) << ended;
  std::map<std::string, Said> all;
  for (const LogLine& line : read_log(folder, "results.jsonl"))
    all[member(line.json, "custom_id")] = said_in(line.json);
  return all;
}

json::object with(const json::object& row, const std::string& id, const json::object& fields) {
  json::object request = row;
  request["custom_id"] = id;
  for (const auto& [name, value] : fields)
    request.at("body").as_object()[name] = value;
  return request;
}

class SameAnswers : public ::testing::TestWithParam<size_t> {};

TEST_P(SameAnswers, UnderASchemaWhereverTheyAreValid) {
  const JsonTask& task = kTasks[GetParam()];
  std::vector<json::object> requests;
  const std::vector<json::object> rows = rows_of(task.name, kRows);
  for (size_t row = 0; row < rows.size(); ++row) {
    requests.push_back(with(rows[row], fmt::format("{}", row), {{"logprobs", true}}));
    for (size_t i = 0; i < task.schemas.size(); ++i) {
      const json::object form{
          {"type", "json_schema"},
          {"json_schema", {{"name", "answer"}, {"schema", json::parse(task.schemas[i])}}}};
      requests.push_back(with(rows[row], fmt::format("{} under {}", row, i),
                              {{"logprobs", true}, {"response_format", form}}));
    }
  }
  std::map<std::string, Said> said = answers(requests);
  ASSERT_EQ(said.size(), requests.size());
  for (size_t i = 0; i < task.schemas.size(); ++i) {
    const auto validator =
        schema::Validator::compile(json::parse(task.schemas[i]), {.closed_by_default = true});
    ASSERT_TRUE(validator) << validator.error().message;
    int valid = 0;
    for (size_t row = 0; row < rows.size(); ++row) {
      const Said& free = said.at(fmt::format("\"{}\"", row));
      const Said& held = said.at(fmt::format("\"{} under {}\"", row, i));
      EXPECT_FALSE(validator->check(held.content)) << held.content;
      if (validator->check(free.content)) continue;
      ++valid;
      EXPECT_EQ(held.content, free.content) << task.name << ", row " << row << ", schema " << i;
      EXPECT_EQ(held.tokens, free.tokens) << task.name << ", row " << row << ", schema " << i;
      EXPECT_EQ(held.reasoning, free.reasoning) << task.name << ", row " << row;
    }
    EXPECT_GE(valid, kRows / 2) << task.name << ": too few answers are valid to compare";
  }
}

INSTANTIATE_TEST_SUITE_P(Tasks, SameAnswers, ::testing::Range(size_t{0}, kTasks.size()),
                         [](const auto& test) { return std::string(kTasks[test.param].name); });

// A call whose grammar says that it must come, or that it is the only one, is the call that comes
// without a grammar: with `ignore_eos` nothing of a call is enforced, and the first one counts.
TEST(SameCalls, WhereTheyAreEnforced) {
  const std::vector<std::pair<std::string, json::object>> ways = {
      {"auto", {}},
      {"single", {{"parallel_tool_calls", false}}},
      {"required", {{"tool_choice", "required"}}}};
  std::vector<json::object> requests;
  const std::vector<json::object> rows = rows_of("tool_calling", kCallRows);
  for (size_t row = 0; row < rows.size(); ++row) {
    requests.push_back(with(rows[row], fmt::format("{}", row), {{"ignore_eos", true}}));
    for (const auto& [way, fields] : ways)
      requests.push_back(with(rows[row], fmt::format("{} {}", row, way), fields));
  }
  std::map<std::string, Said> said = answers(requests);
  ASSERT_EQ(said.size(), requests.size());
  int compared = 0;
  for (size_t row = 0; row < rows.size(); ++row) {
    const std::string free = said.at(fmt::format("\"{}\"", row)).calls;
    const std::string first = free.substr(0, free.find('\n') + 1);
    for (const auto& [way, fields] : ways) {
      const std::string held = said.at(fmt::format("\"{} {}\"", row, way)).calls;
      EXPECT_FALSE(held.empty()) << "row " << row << ", " << way;
      if (first.empty()) continue;
      ++compared;
      EXPECT_EQ(held.substr(0, held.find('\n') + 1), first) << "row " << row << ", " << way;
    }
  }
  EXPECT_GE(compared, kCallRows) << "too few calls to compare";
}

}  // namespace
}  // namespace windrow::end_to_end
