// JobOptions: the options of a job. Options for display (progress, colours, reports) and for
// loading models are not among them.
#pragma once

#include <boost/json/object.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "batch/failure_watch.h"
#include "batch/row.h"
#include "batch/row_dialect.h"
#include "batch/row_planner.h"
#include "llm/request_json.h"

namespace windrow::batch {

// An option that changes answers, as it is shown to people: {"kv-type", "q8_0"}, {"model qwen",
// "models/qwen.gguf, 639446688 bytes, 5f0c91d2a7be3344"}. Stored in the job record; a resumed job
// with different settings is refused, and each is named, old -> new.
struct JobSetting {
  std::string name;
  std::string value;

  friend bool operator==(const JobSetting&, const JobSetting&) = default;
};

// Which failures are tried again, as given to --retry-failed: "429,out_of_memory". A value.
class FailureChoice {
 public:
  // All failures.
  FailureChoice() = default;

  // Parses codes and statuses separated by commas. kInvalid where one is empty.
  static Result<FailureChoice> parse(std::string_view text);

  // The failures with one of these codes ("out_of_memory") or statuses ("429").
  static FailureChoice of(std::vector<std::string> words);

  bool all() const { return words_.empty(); }

  // Whether a failure is among them. `status` 0: it has none, and only its code counts.
  bool takes(int32_t status, std::string_view code) const;

  const std::vector<std::string>& words() const { return words_; }

 private:
  std::vector<std::string> words_;
};

struct JobOptions {
  // --- files ---

  // The name of the input as the user wrote it, for messages and the job record; "-" is standard
  // input. The lines come from JobEnvironment::input.
  std::string input_name;

  // The results file; the other files of the job are beside it (job_paths.h).
  std::string output_path;

  // --- files of an earlier run ---

  // Move them away under other names and start over.
  bool fresh = false;

  // Run failed rows again, all or some kinds of failures. Their lines stay in the errors file until
  // that is rewritten at the end, without the lines of rows that have succeeded since.
  bool retry_failed = false;
  FailureChoice retried;

  // With retry_failed: run no other row.
  bool only_retried = false;

  // --- which rows, in which order ---

  // Consider only the first rows of the input, this many (blank lines do not count); a later run
  // without it continues. 0 takes none; there is no flag for that.
  std::optional<int64_t> rows_max;

  // Check the whole input first, and refuse to run if any line is faulty.
  bool strict = false;

  // When all rows are done, put both logs in the order of the input.
  bool ordered = false;

  // --- how rows become requests ---

  // Defaults of every body: a field that its endpoint has and the body lacks, or has as null, gets
  // this value. JobRunner adds them to the job record, as settings named "set FIELD".
  boost::json::object body_defaults;

  // What the rows of the input are. Of kInputs the options about bodies, models, dialects and
  // truncated answers do not count; `any_model` is set, and there is one route.
  RowForm form = RowForm::kRequests;

  // The names that body.model may have; at least one. With `any_model` any name is accepted, and
  // the answer has the first of these when the body names none. Otherwise another name fails its
  // row with 404 model_not_found.
  std::vector<std::string> models;
  bool any_model = false;

  // Upstream servers answer: bodies are sent as they are written, and not checked here
  // (RowRules::raw).
  bool raw = false;

  // An unknown field fails its row, or is left out and counted (JobReport).
  llm::UnknownFields unknown_fields = llm::UnknownFields::kRefuse;

  // The dialects that rows may be in, besides the formats of the endpoints (row_dialect.h).
  RowApis apis;

  // A structured answer that was cut before it was complete is a result; otherwise its row fails
  // (truncated_failure in result_line.h).
  bool keep_truncated = false;

  // All options that change answers, in the order in which they are shown, as far as they are known
  // before a model is loaded; JobRunner::run gets the others. Without the body defaults.
  std::vector<JobSetting> settings;

  // The time at which a new job begins, for prompts that contain the date (JobStart::began_unix_s).
  int64_t now_unix_s = 0;

  // --- bounds on memory ---

  // Rows that have been read and not submitted; the next one is chosen among them.
  LookAhead look_ahead;

  // Outcomes that are not on disk. When there are more, the backend's threads wait.
  size_t unwritten_bytes_max = size_t{16} << 20;

  // --- how it ends ---

  // Which failures stop the job before its end.
  FailureLimit failure_limit;

  // The time that running rows have after JobRunner::stop() before they are cancelled.
  Duration grace = std::chrono::seconds(10);

  // The job runs without a user, so that errors do not say which command continues it.
  bool unattended = false;
};

}  // namespace windrow::batch
