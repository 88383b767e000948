// Calls of tools that have to come, by the program and a real model of random weights, in the
// words of many families: what it would say is noise, so only the grammar makes calls of it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <map>
#include <string>

#include "end_to_end/job_folder.h"
#include "end_to_end/process.h"
#include "schema/validator.h"

namespace windrow::end_to_end {
namespace {

namespace json = boost::json;

const json::array kTools = json::parse(R"([
  {"type": "function", "function": {"name": "forecast", "description": "Weather to come.",
    "parameters": {"type": "object", "properties": {
      "city": {"type": "string", "description": "where", "maxLength": 8},
      "days": {"type": "integer", "description": "how many", "minimum": 1, "maximum": 14},
      "exact": {"type": "boolean", "description": "or about"},
      "of": {"type": "array", "description": "what", "items": {"enum": ["wind", "rain"]},
             "maxItems": 2}},
      "required": ["city", "days"]}}},
  {"type": "function", "function": {"name": "forecast_now", "description": "Weather there is.",
    "parameters": {"type": "object", "properties": {
      "city": {"type": "string", "description": "where", "enum": ["Bern", "Basel"]}},
      "required": ["city"]}}}])")
                               .as_array();

class ForcedCalls : public ::testing::TestWithParam<const char*> {
 protected:
  ForcedCalls() {
    folder_.use_model(calls_model_path());
    for (const json::value& tool : kTools) {
      const json::object& function = tool.at("function").as_object();
      auto validator =
          schema::Validator::compile(function.at("parameters"), {.closed_by_default = true});
      validators_.emplace(function.at("name").as_string(), *std::move(validator));
    }
  }

  // The calls of a row.
  json::array calls_of(const LogLine& line) {
    const json::value& choice = line.json.at("response").at("body").at("choices").at(0);
    EXPECT_EQ(choice.at("finish_reason"), "tool_calls") << line.text;
    EXPECT_TRUE(choice.at("message").at("content").is_null()) << line.text;
    const json::value* calls = choice.at("message").as_object().if_contains("tool_calls");
    if (calls == nullptr) return {};
    for (const json::value& call : calls->as_array()) {
      const json::object& function = call.at("function").as_object();
      const auto validator = validators_.find(std::string(function.at("name").as_string()));
      if (validator == validators_.end()) {
        ADD_FAILURE() << line.text;
        continue;
      }
      const auto violation = validator->second.check(function.at("arguments").as_string());
      EXPECT_FALSE(violation) << violation->message << "\n" << line.text;
    }
    return calls->as_array();
  }

  JobFolder folder_;
  std::map<std::string, schema::Validator> validators_;
};

TEST_P(ForcedCalls, ComeWithArgumentsThatAreValid) {
  const std::string name = GetParam();
  std::string requests;
  for (int i = 0; i < 15; ++i) {
    json::object body = {{"max_tokens", 400},
                         {"seed", i},
                         {"tools", kTools},
                         {"temperature", 0.9},
                         {"tool_choice", "required"}};
    if (i % 3 == 1) body["parallel_tool_calls"] = false;
    if (i % 3 == 2)
      body["tool_choice"] = {{"type", "function"}, {"function", {{"name", "forecast"}}}};
    // Noise would call for ever.
    if (i % 3 != 1) body["parallel_tool_calls"] = i % 2 == 0;
    requests += chat_line(fmt::format("{}-{}", i % 3, i), "the house of the water", body);
  }
  folder_.write("requests.jsonl", requests);
  Words words = {"run",        "requests.jsonl", "-o", "results.jsonl", "--model",
                 "model.gguf", "--rows-max",     "8",  "--ctx",         "16384"};
  const std::string corpus = WINDROW_TEMPLATES_DIR;
  words.insert(words.end(), {"--chat-template", corpus + "/" + name + ".jinja"});
  const Ended ended = folder_.windrow(words);
  int whole = 0;
  for (const LogLine& line : read_log(folder_, "results.jsonl")) {
    const json::value& choice = line.json.at("response").at("body").at("choices").at(0);
    if (choice.at("finish_reason") == "length") continue;
    const json::array calls = calls_of(line);
    ASSERT_FALSE(calls.empty()) << line.text;
    ++whole;
    const std::string id(line.json.at("custom_id").as_string());
    if (id.starts_with('1')) {
      EXPECT_EQ(calls.size(), 1U) << line.text;
    }
    if (!id.starts_with('2')) continue;
    for (const json::value& call : calls)
      EXPECT_EQ(call.at("function").at("name"), "forecast") << line.text;
  }
  EXPECT_GT(whole, 3) << ended;
}

INSTANTIATE_TEST_SUITE_P(Families, ForcedCalls,
                         ::testing::Values("qwen3-0.6b", "own-llama-3.1-tools", "mistral-nemo",
                                           "mistral-small-3.2", "deepseek-v3.1", "gpt-oss",
                                           "qwen3-coder", "glm-4.6", "minimax-m2", "chatml"),
                         [](const auto& name) {
                           std::string text = name.param;
                           for (char& c : text) {
                             if (c == '-' || c == '.') c = '_';
                           }
                           return text;
                         });

}  // namespace
}  // namespace windrow::end_to_end
