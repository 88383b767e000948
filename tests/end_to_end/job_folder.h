// JobFolder: a folder of a test's own in which `windrow` runs, with the requests that go in and the
// logs that come out.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "end_to_end/process.h"

namespace windrow::end_to_end {

using Words = std::vector<std::string>;

// A model of WINDROW_TEST_MODELS_DIR.
std::string model_path(std::string_view family, std::string_view type = "f32");

// A model with a long context: one of its rows may run for minutes.
std::string endless_model_path();

// A model with a chat template that is not ChatML.
std::string inst_model_path();

// A model whose context is large enough for prompts that describe tools letter by letter.
std::string calls_model_path();

// The GGUF file with these four bytes (of a number, least significant first) as the value of a key
// in its header.
std::string with_header_value(std::string gguf, std::string_view key, uint32_t bits);

class JobFolder {
 public:
  JobFolder();
  ~JobFolder();
  JobFolder(const JobFolder&) = delete;
  JobFolder& operator=(const JobFolder&) = delete;

  // Files go by their names in the folder.
  std::string path(std::string_view name) const;
  void write(std::string_view name, std::string_view text) const;
  std::string read(std::string_view name) const;  // fails the test when there is none
  bool has(std::string_view name) const;
  uint64_t size_of(std::string_view name) const;  // 0 when there is none
  std::vector<std::string> names() const;         // sorted

  // The model is model.gguf in the folder, so that texts which name it are the same everywhere.
  void use_model(const std::string& path, std::string_view name = "model.gguf") const;

  // `windrow` with these arguments, in this folder, without settings in its environment. One
  // thread: two that spin for each other crawl when the machine is busy.
  Command command(const Words& words) const;
  Ended windrow(const Words& words) const { return run(command(words)); }

 private:
  std::filesystem::path path_;
};

// The command line of a run whose answers depend on nothing but the row: see docs/formats.md.
Words exact_run(std::string_view input, std::string_view output, const Words& more = {});

// --- requests -----------------------------------------------------------------------------------

std::string chat_line(std::string_view custom_id, std::string_view content,
                      const boost::json::object& body = {});
std::string completion_line(std::string_view custom_id, std::string_view prompt,
                            const boost::json::object& body = {});

std::string embedding_line(std::string_view custom_id, std::string_view input,
                           const boost::json::object& body = {});

// `count` small requests, "row-1" and so on: both endpoints, greedy and seeded.
std::string some_requests(int count, int output_tokens = 8);

// --- logs ---------------------------------------------------------------------------------------

struct LogLine {
  std::string text;  // without its line end
  boost::json::object json;
};

struct Log {
  std::vector<LogLine> lines;
  std::string torn;  // behind the last line end
};

// None of either when there is no such file. A line that is not JSON fails the test.
Log read_torn_log(const JobFolder& folder, std::string_view name);

// The lines of a log that must not end in half a one.
std::vector<LogLine> read_log(const JobFolder& folder, std::string_view name);

// The member a path names ("response.body.usage"), as JSON; "" when there is none.
std::string member(const boost::json::object& object, std::string_view path);

std::vector<std::string> custom_ids(const std::vector<LogLine>& log);

// The parts of each outcome on which two runs of one job must agree: all but the times. By
// custom_id
// ("line N" for a line without one). A second line of one row fails the test.
using Outcomes = std::map<std::string, std::string>;
Outcomes outcomes(const std::vector<LogLine>& log);

// Both logs of a job: "RESULTS.jsonl" and "RESULTS.errors.jsonl".
Outcomes outcomes_of_job(const JobFolder& folder, std::string_view results = "results");

// Where two runs differ, as a short text; empty when they do not.
std::string difference(const Outcomes& expected, const Outcomes& actual);

}  // namespace windrow::end_to_end
