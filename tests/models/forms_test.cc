// A form that an answer is held to costs nothing of what the model knows: held-out rows of every
// task are answered right at least as often under a schema, an expression or the grammar of a
// single call as without. A grammar that has no token for what the model was trained to write
// shows here as wrong values in valid answers.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "check_answers/files.h"
#include "end_to_end/job_folder.h"

namespace windrow::end_to_end {
namespace {

namespace json = boost::json;

// A task, and what its answers look like: a JSON Schema, or a regular expression.
struct HeldTask {
  std::string_view name;
  int rows;  // of the sample: as many as take a few seconds
  std::string_view schema;
  std::string_view regex;
};

constexpr HeldTask kHeldTasks[] = {
    {"screening", 6,
     R"({"type": "object", "properties": {"years": {"type": "integer"},
         "missing": {"type": "array", "items": {"type": "string"}},
         "fit": {"enum": ["strong", "possible", "weak"]}},
         "required": ["years", "missing", "fit"]})",
     ""},
    {"extraction", 6,
     R"({"type": "object", "properties": {"facts": {"type": "array", "items": {"type": "object",
         "properties": {"entity": {"type": "string"}, "fact": {"type": "string"},
                        "time": {"type": "string"}},
         "required": ["entity", "fact", "time"]}}}, "required": ["facts"]})",
     ""},
    {"consolidation", 2,
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
     ""},
    {"sum", 12,
     R"({"type": "object", "properties": {"steps": {"type": "array", "items": {"type": "integer"}},
         "sum": {"type": "integer"}}, "required": ["steps", "sum"]})",
     ""},
    {"sort", 12, "", "[0-9]( [0-9]){7}"},
    {"merge", 6, "", "[0-9]( [0-9])*"},
};

constexpr std::string_view kCalling = "tool_calling";
constexpr int kCallRows = 25;

// Right answers by task.
using Right = std::map<std::string, int64_t, std::less<>>;

// Requests with their key, as one job.
class HeldJob {
 public:
  using Change = std::function<void(json::object& body, const json::object& key)>;

  // The first rows of a task's sample, each changed, counted as `task_name`.
  void add(std::string_view task, int rows_max, const std::string& task_name,
           const Change& change) {
    std::ifstream rows(sample(task, ".jsonl"));
    std::ifstream keys(sample(task, ".key.jsonl"));
    std::string row;
    std::string key;
    for (int i = 0; i < rows_max && std::getline(rows, row) && std::getline(keys, key); ++i) {
      json::object request = json::parse(row).as_object();
      json::object right = json::parse(key).as_object();
      const std::string id = fmt::format("{} {}", task_name, right.at("custom_id").as_string());
      change(request.at("body").as_object(), right);
      request["custom_id"] = id;
      right["custom_id"] = id;
      // Answers of this task are judged in a way of their own.
      if (task != "consolidation") right["task"] = task_name;
      requests_ += json::serialize(request) + "\n";
      keys_ += json::serialize(right) + "\n";
    }
  }

  Right run() const {
    JobFolder folder;
    folder.use_model(WINDROW_MODELS_DIR "/windrow-demo.gguf");
    folder.write("requests.jsonl", requests_);
    folder.write("key.jsonl", keys_);
    const Ended ended = folder.windrow({"run", "requests.jsonl", "-o", "results.jsonl", "--model",
                                        "model.gguf", "--keep-truncated"});
    EXPECT_EQ(ended.code, 0) << ended;
    const auto checked =
        check_answers::check_files(folder.path("results.jsonl"), folder.path("key.jsonl"), 0);
    EXPECT_TRUE(checked) << checked.error().message;
    Right right;
    for (const check_answers::TaskScore& task : checked->score.tasks) {
      EXPECT_EQ(task.missing, 0) << task.task;
      right[task.task] = task.right;
    }
    return right;
  }

 private:
  static std::string sample(std::string_view task, std::string_view ending) {
    return fmt::format("{}/{}{}", WINDROW_SAMPLES_DIR, task, ending);
  }

  std::string requests_;
  std::string keys_;
};

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

const Right& right_without() {
  static const Right kRight = [] {
    HeldJob job;
    const auto nothing = [](json::object&, const json::object&) {};
    for (const HeldTask& task : kHeldTasks)
      job.add(task.name, task.rows, std::string(task.name), nothing);
    job.add(kCalling, kCallRows, std::string(kCalling), nothing);
    return job.run();
  }();
  return kRight;
}

TEST(HeldForms, ASchemaOrAnExpressionMakesNoAnswerWrong) {
  HeldJob job;
  for (const HeldTask& task : kHeldTasks) {
    job.add(
        task.name, task.rows, std::string(task.name),
        [&](json::object& body, const json::object&) { body["response_format"] = form_of(task); });
  }
  const Right held = job.run();
  for (const HeldTask& task : kHeldTasks) {
    const auto name = std::string(task.name);
    fmt::print("{}: {} right without a form, {} with\n", name, right_without().at(name),
               held.at(name));
    EXPECT_GE(held.at(name), right_without().at(name)) << name;
  }
}

TEST(HeldForms, ASingleCallOrOneThatHasToComeHasTheSameArguments) {
  HeldJob job;
  job.add(kCalling, kCallRows, "single",
          [](json::object& body, const json::object&) { body["parallel_tool_calls"] = false; });
  job.add(kCalling, kCallRows, "required",
          [](json::object& body, const json::object&) { body["tool_choice"] = "required"; });
  job.add(kCalling, kCallRows, "named", [](json::object& body, const json::object& key) {
    body["tool_choice"] = {{"type", "function"}, {"function", {{"name", called_tool(key)}}}};
  });
  job.add(kCalling, kCallRows, "beside a form", [](json::object& body, const json::object&) {
    body["response_format"] = form_of(kHeldTasks[0]);
  });
  job.add(kCalling, kCallRows, "single and required", [](json::object& body, const json::object&) {
    body["tool_choice"] = "required";
    body["parallel_tool_calls"] = false;
  });
  const int64_t without = right_without().at(std::string(kCalling));
  for (const auto& [name, right] : job.run()) {
    fmt::print("{}: {} right without, {} with\n", name, without, right);
    EXPECT_GE(right, without) << name;
  }
}

}  // namespace
}  // namespace windrow::end_to_end
