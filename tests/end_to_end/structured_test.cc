// Answers with a structure, by the program and real models of random weights: what they would say
// is noise, so all that holds it together is the structure.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include "end_to_end/job_folder.h"
#include "end_to_end/process.h"
#include "schema/validator.h"

namespace windrow::end_to_end {
namespace {

namespace json = boost::json;

using ::testing::HasSubstr;

// Noise closes few quotes by itself, so texts and lists are kept short.
void bound(json::value& value) {
  if (auto* array = value.if_array()) {
    for (json::value& one : *array)
      bound(one);
  }
  auto* object = value.if_object();
  if (object == nullptr) return;
  for (auto& [name, member] : *object)
    bound(member);
  const json::value* found = object->if_contains("type");
  const json::value type = found == nullptr ? json::value() : *found;
  if (type == "string" && !object->contains("enum")) (*object)["maxLength"] = 9;
  if (type == "array") (*object)["maxItems"] = 2;
}

// Schemas of a program that makes graphs of texts.
std::map<std::string, json::value> schemas() {
  std::map<std::string, json::value> schemas;
  for (const auto& file : std::filesystem::directory_iterator(WINDROW_SCHEMAS_DIR)) {
    std::ifstream stream(file.path());
    std::stringstream text;
    text << stream.rdbuf();
    json::value& schema = schemas[file.path().stem().string()] = json::parse(text.str());
    bound(schema);
  }
  return schemas;
}

json::object format_of(const json::value& schema) {
  return {{"type", "json_schema"}, {"json_schema", {{"name", "answer"}, {"schema", schema}}}};
}

std::string content_of(const json::object& line) {
  return std::string(
      line.at("response").at("body").at("choices").at(0).at("message").at("content").as_string());
}

class Structured : public ::testing::TestWithParam<const char*> {
 protected:
  Structured() { folder_.use_model(model_path(GetParam())); }

  JobFolder folder_;
};

TEST_P(Structured, EveryAnswerIsValidUnderItsSchemaOrSaysThatItWasCut) {
  const auto all = schemas();
  ASSERT_EQ(all.size(), 9U);
  std::string requests;
  for (int i = 0; i < 54; ++i) {
    const auto schema = std::next(all.begin(), i % 9);
    requests += chat_line(schema->first + ":" + std::to_string(i), "the house of the water",
                          {{"max_tokens", 400},
                           {"seed", i},
                           {"temperature", i % 2 == 0 ? 1.0 : 0.7},
                           {"response_format", format_of(schema->second)}});
  }
  folder_.write("requests.jsonl", requests);
  const Ended ended = folder_.windrow({"run", "requests.jsonl", "-o", "results.jsonl", "--model",
                                       "model.gguf", "--rows-max", "8", "--ctx", "4096"});
  const auto results = read_log(folder_, "results.jsonl");
  const auto errors = read_log(folder_, "results.errors.jsonl");
  EXPECT_EQ(results.size() + errors.size(), 54U) << ended;
  EXPECT_GT(results.size(), 40U) << ended;
  std::set<std::string> kinds;
  for (const LogLine& line : results) {
    const std::string id(line.json.at("custom_id").as_string());
    const std::string kind = id.substr(0, id.find(':'));
    const auto validator = schema::Validator::compile(all.at(kind), {.closed_by_default = true});
    ASSERT_TRUE(validator) << kind << ": " << validator.error().message;
    const auto violation = validator->check(content_of(line.json));
    EXPECT_FALSE(violation) << id << ": " << violation->message << "\n" << content_of(line.json);
    EXPECT_EQ(line.json.at("response").at("body").at("choices").at(0).at("structure"), "valid");
    kinds.insert(kind);
  }
  EXPECT_GT(kinds.size(), 7U);
  for (const LogLine& line : errors) {
    EXPECT_EQ(member(line.json, "error.code"), "\"truncated_structured_output\"") << line.text;
    const json::value& answer = line.json.at("response").at("body").at("answer");
    EXPECT_EQ(answer.at("choices").at(0).at("finish_reason"), "length");
    EXPECT_EQ(answer.at("choices").at(0).at("structure"), "truncated");
    EXPECT_TRUE(
        answer.at("choices").at(0).at("message").at("content").as_string().starts_with("{"));
  }
}

TEST_P(Structured, MembersComeInAnyOrderWhereThatIsAskedFor) {
  const json::object schema = {
      {"type", "object"},
      {"properties",
       {{"a", {{"type", "boolean"}}}, {"b", {{"enum", {1, 2}}}}, {"c", {{"type", "null"}}}}},
      {"required", {"a", "b"}}};
  json::object format = format_of(schema);
  format["property_order"] = "any";
  std::string requests;
  for (int i = 0; i < 24; ++i) {
    requests += chat_line("row-" + std::to_string(i), "the house",
                          {{"max_tokens", 100}, {"seed", i}, {"response_format", format}});
  }
  format["property_order"] = "bottom";
  requests += chat_line("wrong", "the house", {{"response_format", format}});
  folder_.write("requests.jsonl", requests);
  const Ended ended = folder_.windrow(
      {"run", "requests.jsonl", "-o", "results.jsonl", "--model", "model.gguf", "--rows-max", "8"});
  const auto errors = read_log(folder_, "results.errors.jsonl");
  ASSERT_EQ(errors.size(), 1U) << ended;
  EXPECT_THAT(errors[0].text,
              ::testing::HasSubstr(R"(response_format.property_order must be \"definition\" or )"));
  const auto validator = schema::Validator::compile(schema, {.closed_by_default = true});
  ASSERT_TRUE(validator);
  std::set<std::string> firsts;
  for (const LogLine& line : read_log(folder_, "results.jsonl")) {
    const std::string content = content_of(line.json);
    const auto violation = validator->check(content);
    EXPECT_FALSE(violation) << violation->message << "\n" << content;
    firsts.insert(content.substr(0, 4));
  }
  EXPECT_GT(firsts.size(), 1U);
}

TEST_P(Structured, EveryKindOfStructure) {
  const auto line = [](std::string_view id, const json::object& format) {
    return completion_line(id, "the house",
                           {{"max_tokens", 60}, {"seed", 3}, {"response_format", format}});
  };
  folder_.write(
      "requests.jsonl",
      line("regex", {{"type", "regex"}, {"regex", "[0-9]{4}-[0-9]{2}"}}) +
          line("choice", {{"type", "choice"}, {"choice", {"yes", "no", "perhaps"}}}) +
          line("grammar", {{"type", "grammar"},
                           {"grammar", "root ::= \"<\" [a-z]{3} \">\" | \"(\" root \")\""}}));
  const Ended ended =
      folder_.windrow(exact_run("requests.jsonl", "results.jsonl", {"--keep-truncated"}));
  EXPECT_EQ(ended.code, 0) << ended;
  std::map<std::string, std::string> texts;
  for (const LogLine& one : read_log(folder_, "results.jsonl")) {
    const json::value& choice = one.json.at("response").at("body").at("choices").at(0);
    texts[std::string(one.json.at("custom_id").as_string())] = choice.at("text").as_string();
  }
  EXPECT_THAT(texts["regex"], ::testing::MatchesRegex("[0-9][0-9][0-9][0-9]-[0-9][0-9]"));
  EXPECT_THAT(texts["choice"], ::testing::AnyOf("yes", "no", "perhaps"));
  EXPECT_THAT(texts["grammar"], ::testing::MatchesRegex("\\(*(<[a-z][a-z][a-z]>)?\\)*"));
}

INSTANTIATE_TEST_SUITE_P(All, Structured, ::testing::Values("llama", "qwen3"),
                         [](const auto& tested) { return std::string(tested.param); });

TEST(StructuredRows, OneThatIsCutFailsUnlessItIsKept) {
  JobFolder folder;
  folder.use_model(model_path("qwen3"));
  folder.write("requests.jsonl",
               completion_line("cut", "a", {{"max_tokens", 3}, {"guided_regex", "[a-c]{300}"}}) +
                   completion_line("whole", "a", {{"guided_choice", {"abc"}}}));
  const Ended failed = folder.windrow(exact_run("requests.jsonl", "results.jsonl"));
  EXPECT_EQ(failed.code, 1) << failed;
  const auto errors = read_log(folder, "results.errors.jsonl");
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_EQ(member(errors[0].json, "error.param"), "\"max_tokens\"");
  EXPECT_EQ(errors[0].json.at("response").at("status_code"), 422);

  // A larger limit in the input, and the same command tries it again.
  folder.write("requests.jsonl",
               completion_line("cut", "a", {{"max_tokens", 320}, {"guided_regex", "[a-c]{300}"}}) +
                   completion_line("whole", "a", {{"guided_choice", {"abc"}}}));
  const Ended again =
      folder.windrow(exact_run("requests.jsonl", "results.jsonl", {"--retry-failed"}));
  EXPECT_EQ(again.code, 0) << again;

  folder.write("kept.jsonl",
               completion_line("cut", "a", {{"max_tokens", 3}, {"guided_regex", "[a-c]{300}"}}));
  const Ended kept =
      folder.windrow(exact_run("kept.jsonl", "kept-results.jsonl", {"--keep-truncated"}));
  EXPECT_EQ(kept.code, 0) << kept;
  const auto results = read_log(folder, "kept-results.jsonl");
  ASSERT_EQ(results.size(), 1U);
  EXPECT_EQ(results[0].json.at("response").at("body").at("choices").at(0).at("structure"),
            "truncated");
}

TEST(StructuredRows, WhatCannotBeEnforcedIsRefusedWithItsPlace) {
  JobFolder folder;
  folder.use_model(model_path("qwen3"));
  const json::value schema =
      json::parse(R"({"type":"object","properties":{"a":{"type":"array","uniqueItems":true}}})");
  folder.write("requests.jsonl", chat_line("a", "hi", {{"response_format", format_of(schema)}}));
  const Ended ended = folder.windrow(exact_run("requests.jsonl", "results.jsonl"));
  EXPECT_EQ(ended.code, 1) << ended;
  const auto errors = read_log(folder, "results.errors.jsonl");
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_EQ(member(errors[0].json, "error.param"), "\"response_format\"");
  EXPECT_THAT(member(errors[0].json, "error.message"), HasSubstr("/properties/a"));
}

}  // namespace
}  // namespace windrow::end_to_end
