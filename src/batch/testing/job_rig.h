// JobRig: a whole job in memory: input, disk, clock and a scripted backend, with a plain reader of
// what it leaves.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/testing/manual_clock.h"
#include "batch/job_runner.h"
#include "batch/testing/memory_input.h"
#include "dispatch/dispatcher.h"
#include "llm/testing/scripted_backend.h"
#include "store/disk.h"
#include "store/testing/memory_disk.h"

namespace windrow::batch::testing {

inline std::string row_line(std::string_view id, std::string_view prompt) {
  return fmt::format(
      "{{\"custom_id\":\"{}\",\"method\":\"POST\",\"url\":\"/v1/completions\","
      "\"body\":{{\"model\":\"m\",\"prompt\":\"{}\"}}}}\n",
      id, prompt);
}

// Answers "echo PROMPT"; a prompt that begins with "bad" cannot be answered.
inline llm::Outcome echo(const llm::Request& request) {
  if (request.inputs.at(0).text.starts_with("bad")) {
    return llm::Failure{.failure_class = llm::FailureClass::kRequest,
                        .status = 400,
                        .code = "cannot",
                        .message = "this prompt cannot be answered",
                        .param = "prompt"};
  }
  llm::Answer answer;
  answer.choices = {{.text = "echo " + request.inputs.at(0).text}};
  answer.usage = {.prompt_tokens = 3, .completion_tokens = 2};
  return answer;
}

// --- one run ----------------------------------------------------------------------------------

struct JobRun {
  std::string input;
  MemoryInputOptions input_options = {};
  JobOptions options = {};
  llm::testing::ScriptedBackend::Script script = echo;
  llm::testing::ScriptedOptions backend = {};
  int32_t attempts_max = 3;
  RunHooks hooks = {};
  // Called with the runner before run().
  std::function<void(JobRunner&)> before = {};
};

struct JobOutcome {
  Result<JobReport> result;
  JobStart start;
  int64_t submitted = 0;
  std::unique_ptr<JobCounters> counters;

  bool completed() const { return result && result->end == JobEnd::kCompleted; }
  std::string error() const { return result ? std::string() : result.error().message; }
};

inline JobOptions job_options() {
  JobOptions options;
  options.input_name = "requests.jsonl";
  options.output_path = "r.jsonl";
  options.models = {"m"};
  options.any_model = true;
  options.settings = {{"model", "m.gguf"}};
  return options;
}

// Opens and runs a job on `disk`. The default options are job_options().
inline JobOutcome run_job(store::Disk& disk, JobRun run) {
  if (run.options.models.empty()) run.options = job_options();
  windrow::testing::ManualClock clock;
  MemoryInput input(run.input, run.input_options);
  JobOutcome outcome{
      .result = Error{}, .start = {}, .submitted = 0, .counters = std::make_unique<JobCounters>()};
  llm::testing::ScriptedBackend backend(run.script, run.backend);
  dispatch::Dispatcher dispatcher(backend, {.in_flight_max = 0, .attempts_max = run.attempts_max});
  auto runner = JobRunner::open(run.options, {.disk = disk, .clock = clock, .input = input},
                                *outcome.counters);
  if (!runner) {
    outcome.result = runner.error();
    return outcome;
  }
  outcome.start = (*runner)->start();
  if (run.before) run.before(**runner);
  const std::vector<ModelRoute> routes{{.name = "m", .dispatcher = &dispatcher}};
  outcome.result = (*runner)->run(routes, std::move(run.hooks));
  outcome.submitted = backend.submitted();
  return outcome;
}

// --- what is there afterwards, read the plain way ---------------------------------------------

struct LeftFiles {
  std::string results;
  std::string errors;
};

inline LeftFiles left_files(store::Disk& disk) {
  LeftFiles files;
  if (const auto text = disk.read_all("r.jsonl")) files.results = *text;
  if (const auto text = disk.read_all("r.errors.jsonl")) files.errors = *text;
  return files;
}

inline std::vector<std::string> split_lines(const std::string& text) {
  std::vector<std::string> lines;
  size_t begin = 0;
  for (size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', begin)) {
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  if (begin < text.size()) lines.push_back("HALF A LINE: " + text.substr(begin));
  return lines;
}

// What a log must hold, one entry for every line, in any order: "id: text" for a result,
// "id: code" for a failed row, "line N: code" for a line without a name.
using Entries = std::multiset<std::string>;

inline std::string entry_of(const std::string& line) {
  boost::system::error_code error;
  const boost::json::value value = boost::json::parse(line, error);
  if (error) return "NOT JSON: " + line;
  const boost::json::object& object = value.as_object();
  const std::string number = fmt::format("line {}", object.at("windrow").at("line").as_int64());
  const auto text = [](const boost::json::value& string) {
    return std::string(string.as_string());
  };
  const boost::json::value& id = object.at("custom_id");
  if (object.at("error").is_null()) {
    return text(id) + ": " + text(object.at("response").at("body").at("choices").at(0).at("text"));
  }
  const std::string code = text(object.at("error").at("code"));
  if (object.at("response").is_null()) return number + ": " + code;
  return text(id) + ": " + code;
}

inline Entries entries_of(const std::string& log) {
  Entries entries;
  for (const std::string& line : split_lines(log))
    entries.insert(entry_of(line));
  return entries;
}

struct Expected {
  Entries results;
  Entries errors;
};

// What the rows of `input` come to with the script echo(): one entry each.
inline Expected expected_of(const std::string& input) {
  Expected expected;
  std::set<std::string> names;
  int64_t number = 0;
  for (const std::string& line : split_lines(input.ends_with('\n') ? input : input + "\n")) {
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    boost::system::error_code error;
    const boost::json::value value = boost::json::parse(line, error);
    if (error || !value.is_object()) {
      expected.errors.insert(fmt::format("line {}: invalid_json_line", number));
      continue;
    }
    const auto* id = value.as_object().if_contains("custom_id");
    if (id == nullptr) {
      expected.errors.insert(fmt::format("line {}: missing_custom_id", number));
      continue;
    }
    const std::string name(id->as_string());
    if (!names.insert(name).second) {
      expected.errors.insert(fmt::format("line {}: duplicate_custom_id", number));
      continue;
    }
    if (value.at("url") != "/v1/completions") {
      expected.errors.insert(name + ": unknown_url");
      continue;
    }
    const std::string prompt(value.at("body").at("prompt").as_string());
    if (prompt.starts_with("bad")) {
      expected.errors.insert(name + ": cannot");
    } else {
      expected.results.insert(name + ": echo " + prompt);
    }
  }
  return expected;
}

// The input lines that the lines of a log answer, in the order of the log.
inline std::vector<int64_t> input_lines_of(const std::string& log) {
  std::vector<int64_t> numbers;
  for (const std::string& line : split_lines(log)) {
    numbers.push_back(boost::json::parse(line).at("windrow").at("line").as_int64());
  }
  return numbers;
}

// --- a fixture --------------------------------------------------------------------------------

// Rows "row-N" with prompts "pN".
inline std::string rows(int first, int last) {
  std::string text;
  for (int i = first; i <= last; ++i) {
    text += row_line(fmt::format("row-{}", i), fmt::format("p{}", i));
  }
  return text;
}

class JobTest : public ::testing::Test {
 protected:
  JobOutcome run(const std::string& input) { return run_job(memory_, {.input = input}); }

  Entries results() { return entries_of(memory_.get("r.jsonl")); }
  Entries errors() { return entries_of(memory_.get("r.errors.jsonl")); }

  void expect_all_of(const std::string& input) {
    const Expected expected = expected_of(input);
    EXPECT_EQ(results(), expected.results);
    EXPECT_EQ(errors(), expected.errors);
  }

  store::testing::MemoryDisk memory_;
};

}  // namespace windrow::batch::testing
