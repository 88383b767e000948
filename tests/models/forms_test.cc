// Structured output does not make answers worse: held-out rows of every task are answered right at
// least as often under a schema, an expression, a grammar, a choice or the grammar of a single call
// as without. A grammar that excludes the tokens that the model was trained to write shows here as
// wrong values in valid answers. Each job has its rows without a structure, too, and most of these
// have to be right, or there would be nothing to compare with.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <fstream>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "check_answers/files.h"
#include "end_to_end/job_folder.h"

namespace windrow::end_to_end {
namespace {

namespace json = boost::json;

// A task, and what its answers look like: a JSON Schema, or a regular expression.
struct HeldTask {
  std::string_view name;
  int rows;       // of the sample: as many as take a few seconds
  int right_min;  // of them, without a form: a row or more under what was measured
  std::string_view schema;
  std::string_view regex;
};

constexpr HeldTask kScreening = {"screening", 6, 4,
                                 R"({"type": "object", "properties": {"years": {"type": "integer"},
         "missing": {"type": "array", "items": {"type": "string"}},
         "fit": {"enum": ["strong", "possible", "weak"]}},
         "required": ["years", "missing", "fit"]})",
                                 ""};
constexpr HeldTask kExtraction = {
    "extraction", 6, 4,
    R"({"type": "object", "properties": {"facts": {"type": "array", "items": {"type": "object",
         "properties": {"entity": {"type": "string"}, "fact": {"type": "string"},
                        "time": {"type": "string"}},
         "required": ["entity", "fact", "time"]}}}, "required": ["facts"]})",
    ""};
constexpr HeldTask kConsolidation = {"consolidation", 5, 3,
                                     R"({"type": "object", "properties": {
         "creates": {"type": "array", "items": {"type": "object", "properties": {
           "text": {"type": "string"}, "source_fact_ids": {"type": "array",
           "items": {"type": "string"}}, "reason": {"type": "string"}},
           "required": ["text", "source_fact_ids", "reason"]}},
         "updates": {"type": "array", "items": {"type": "object", "properties": {
           "text": {"type": "string"}, "observation_id": {"type": "string"},
           "source_fact_ids": {"type": "array", "items": {"type": "string"}},
           "reason": {"type": "string"}},
           "required": ["text", "observation_id", "source_fact_ids", "reason"]}},
         "deletes": {"type": "array", "items": {"type": "object", "properties": {
           "observation_id": {"type": "string"}, "reason": {"type": "string"}},
           "required": ["observation_id", "reason"]}}},
         "required": ["creates", "updates", "deletes"]})",
                                     ""};
constexpr HeldTask kSum = {
    "sum", 12, 9,
    R"({"type": "object", "properties": {"steps": {"type": "array", "items": {"type": "integer"}},
         "sum": {"type": "integer"}}, "required": ["steps", "sum"]})",
    ""};
constexpr HeldTask kSort = {"sort", 12, 9, "", "[0-9]( [0-9]){7}"};
constexpr HeldTask kMerge = {"merge", 6, 4, "", "[0-9]( [0-9])*"};
constexpr HeldTask kCalling = {"tool_calling", 25, 20, "", ""};

constexpr HeldTask kHeldTasks[] = {kScreening, kExtraction, kConsolidation, kSum, kSort, kMerge};

// The name of the rows of each job that have no form.
constexpr std::string_view kWithout = "without a form";

// The line of an answer as check_answers reads it, which knows chats only: a message of
// /v1/messages becomes one, with its first call.
std::string as_chat(const LogLine& line) {
  const json::value value = line.json;
  boost::system::error_code absent;
  const json::value* content = value.find_pointer("/response/body/content", absent);
  if (content == nullptr) return line.text;
  json::object message{{"content", nullptr}};
  for (const json::value& block : content->as_array()) {
    if (block.at("type") == "text") message["content"] = block.at("text");
    if (block.at("type") != "tool_use" || message.contains("tool_calls")) continue;
    const json::object function{{"name", block.at("name")},
                                {"arguments", json::serialize(block.at("input"))}};
    json::array calls;
    calls.emplace_back(json::object{{"function", function}});
    message["tool_calls"] = std::move(calls);
  }
  json::array choices;
  choices.emplace_back(json::object{{"message", std::move(message)}});
  return json::serialize(json::object{{"custom_id", value.at("custom_id")},
                                      {"response", {{"body", {{"choices", std::move(choices)}}}}}});
}

// Rows with their key, asked in one job.
class HeldJob {
 public:
  // Changes a line of a job; the key has the right answer.
  using Change = std::function<void(json::object& request, const json::object& key)>;

  // The first rows of a task's sample, each changed, counted under this name.
  void add(const HeldTask& task, std::string_view form, const Change& change) {
    std::ifstream rows(sample(task.name, ".jsonl"));
    std::ifstream keys(sample(task.name, ".key.jsonl"));
    for (int i = 0; i < task.rows; ++i) {
      std::string row;
      std::string key;
      ASSERT_TRUE(std::getline(rows, row)) << task.name << " has no row " << i + 1;
      ASSERT_TRUE(std::getline(keys, key)) << task.name << " has no key " << i + 1;
      json::object request = json::parse(row).as_object();
      json::object right = json::parse(key).as_object();
      const std::string name = name_of(task, form);
      const std::string id = fmt::format("{}/{}", name, i);
      change(request, right);
      request["custom_id"] = id;
      right["custom_id"] = id;
      requests_ += json::serialize(request) + "\n";
      keys_ += json::serialize(right) + "\n";
      ++right_[name];
    }
  }

  void run() {
    ASSERT_FALSE(::testing::Test::HasFatalFailure()) << "the job is not whole";
    JobFolder folder;
    folder.use_model(WINDROW_MODELS_DIR "/windrow-demo.gguf");
    folder.write("requests.jsonl", requests_);
    folder.write("key.jsonl", keys_);
    const Ended ended = folder.windrow({"run", "requests.jsonl", "-o", "results.jsonl", "--model",
                                        "model.gguf", "--keep-truncated"});
    ASSERT_EQ(ended.code, 0) << ended;
    std::string answers;
    for (const LogLine& line : read_log(folder, "results.jsonl"))
      answers += as_chat(line) + "\n";
    folder.write("answers.jsonl", answers);
    const auto checked = check_answers::check_files(
        folder.path("answers.jsonl"), folder.path("key.jsonl"), std::numeric_limits<size_t>::max());
    ASSERT_TRUE(checked) << checked.error().message;
    for (const check_answers::WrongAnswer& wrong : checked->wrong) {
      ASSERT_TRUE(wrong.given) << wrong.custom_id << " has no answer";
      --right_.at(wrong.custom_id.substr(0, wrong.custom_id.rfind('/')));
    }
  }

  // The rows without a form have to be right often enough, and the rows with it as often. One may
  // differ: which rows are computed together depends on timing, and a near tie may fall either way.
  void expect_no_worse(const HeldTask& task, std::string_view form) const {
    const int64_t without = right_.at(name_of(task, kWithout));
    ASSERT_GE(without, task.right_min) << "of " << task.rows << " rows of " << task.name;
    const int64_t held = right_.at(name_of(task, form));
    fmt::print("{}, {}: {} right without, {} with\n", task.name, form, without, held);
    EXPECT_GE(held + 1, without) << task.name << ", " << form;
  }

 private:
  static std::string sample(std::string_view task, std::string_view ending) {
    return fmt::format("{}/{}{}", WINDROW_SAMPLES_DIR, task, ending);
  }

  static std::string name_of(const HeldTask& task, std::string_view form) {
    return fmt::format("{}, {}", task.name, form);
  }

  std::string requests_;
  std::string keys_;
  std::map<std::string, int64_t> right_;  // by task and form
};

void change_nothing(json::object& /*request*/, const json::object& /*key*/) {}

// Adds this field to a body.
HeldJob::Change with_field(std::string_view name, json::value value) {
  return [name, value = std::move(value)](json::object& request, const json::object&) {
    request.at("body").as_object()[name] = value;
  };
}

json::object form_of(const HeldTask& task) {
  if (task.schema.empty()) return {{"type", "regex"}, {"regex", task.regex}};
  return {{"type", "json_schema"},
          {"json_schema", {{"name", "answer"}, {"schema", json::parse(task.schema)}}}};
}

// The key has the call as the model writes it.
std::string called_tool(const json::object& key) {
  std::string text(key.at("answer").as_string());
  text = text.substr(text.find('{'), text.rfind('}') + 1 - text.find('{'));
  return std::string(json::parse(text).at("name").as_string());
}

// The right answer, between two that have another first or last digit.
json::array choices_of(const json::object& key) {
  const std::string right(key.at("answer").as_string());
  const auto changed = [&](size_t at) {
    std::string wrong = right;
    wrong[at] = wrong[at] == '9' ? '0' : static_cast<char>(wrong[at] + 1);
    return wrong;
  };
  return {changed(0), right, changed(right.size() - 1)};
}

// The same request in the words of /v1/messages, with one call at most.
HeldJob::Change as_message(std::string_view use) {
  return [use](json::object& request, const json::object&) {
    const json::object chat = request.at("body").as_object();
    const json::array& messages = chat.at("messages").as_array();
    json::array tools;
    for (const json::value& tool : chat.at("tools").as_array()) {
      const json::object& function = tool.at("function").as_object();
      tools.emplace_back(json::object{{"name", function.at("name")},
                                      {"description", function.at("description")},
                                      {"input_schema", function.at("parameters")}});
    }
    json::array turns;
    turns.push_back(messages.at(1));
    request["url"] = "/v1/messages";
    request["body"] = {{"model", chat.at("model")},
                       {"system", messages.at(0).at("content")},
                       {"messages", std::move(turns)},
                       {"tools", std::move(tools)},
                       {"tool_choice", {{"type", use}, {"disable_parallel_tool_use", true}}},
                       {"max_tokens", chat.at("max_tokens")},
                       {"temperature", chat.at("temperature")}};
  };
}

TEST(HeldForms, ASchemaOrAnExpressionMakesNoAnswerWrong) {
  HeldJob job;
  for (const HeldTask& task : kHeldTasks) {
    job.add(task, kWithout, change_nothing);
    job.add(task, "a form", with_field("response_format", form_of(task)));
  }
  job.run();
  if (HasFatalFailure()) return;
  for (const HeldTask& task : kHeldTasks)
    job.expect_no_worse(task, "a form");
}

TEST(HeldForms, AChoiceAGrammarOrAnyObjectMakesNoAnswerWrong) {
  HeldJob job;
  for (const HeldTask& task : {kSum, kSort, kMerge})
    job.add(task, kWithout, change_nothing);
  job.add(kSum, "any object", with_field("response_format", {{"type", "json_object"}}));
  job.add(kMerge, "a grammar",
          with_field("guided_grammar", "root ::= digit (\" \" digit)*\ndigit ::= [0-9]"));
  job.add(kSort, "a choice", [](json::object& request, const json::object& key) {
    request.at("body").as_object()["structured_outputs"] = {{"choice", choices_of(key)}};
  });
  job.add(kSort, "an older name of a choice", [](json::object& request, const json::object& key) {
    request.at("body").as_object()["guided_choice"] = choices_of(key);
  });
  job.run();
  if (HasFatalFailure()) return;
  job.expect_no_worse(kSum, "any object");
  job.expect_no_worse(kMerge, "a grammar");
  job.expect_no_worse(kSort, "a choice");
  job.expect_no_worse(kSort, "an older name of a choice");
}

TEST(HeldForms, ASingleCallOrOneThatHasToComeHasTheSameArguments) {
  const std::pair<std::string_view, HeldJob::Change> kinds[] = {
      {"single", with_field("parallel_tool_calls", false)},
      {"required", with_field("tool_choice", "required")},
      {"named",
       [](json::object& request, const json::object& key) {
         request.at("body").as_object()["tool_choice"] = {
             {"type", "function"}, {"function", {{"name", called_tool(key)}}}};
       }},
      {"beside a form", with_field("response_format", form_of(kScreening))},
      {"single and required",
       [](json::object& request, const json::object&) {
         json::object& body = request.at("body").as_object();
         body["tool_choice"] = "required";
         body["parallel_tool_calls"] = false;
       }},
      {"single, in a message", as_message("auto")},
      {"single and required, in a message", as_message("any")}};
  HeldJob job;
  job.add(kCalling, kWithout, change_nothing);
  for (const auto& [name, change] : kinds)
    job.add(kCalling, name, change);
  job.run();
  if (HasFatalFailure()) return;
  for (const auto& [name, change] : kinds)
    job.expect_no_worse(kCalling, name);
}

}  // namespace
}  // namespace windrow::end_to_end
