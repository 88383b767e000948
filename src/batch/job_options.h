// JobOptions: what a person asked `windrow run` to do, as far as the job itself is concerned. What
// shows it (progress, colours, reports) and what loads models are not in here.
#pragma once

#include <boost/json/object.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "batch/failure_choice.h"
#include "batch/row_planner.h"
#include "batch/row_words.h"
#include "llm/request_json.h"

namespace windrow::batch {

// An option that alters answers, as people know it: {"kv-type", "q8_0"}, {"model qwen",
// "models/qwen.gguf, 639446688 bytes, 5f0c91d2a7be3344"}. Kept in the job record; a resumed job
// whose settings differ is refused and each is named, old -> new.
struct JobSetting {
  std::string name;
  std::string value;

  friend bool operator==(const JobSetting&, const JobSetting&) = default;
};

struct JobOptions {
  // --- files ---

  // As the user wrote it, for messages and the job record: the lines themselves come from
  // JobEnvironment::input. "-" is standard input.
  std::string input_name;

  // RESULTS. The other files of the job stand beside it (job_paths.h).
  std::string output_path;

  // --- what to do with what is there ---

  // Put the files of an earlier job aside under another name and start over.
  bool fresh = false;

  // Rows that failed run again, all or those of some kinds. Their lines stay in the errors file
  // until that is rewritten at the end, without those of rows that succeeded since.
  bool retry_failed = false;
  FailureChoice retried;

  // With retry_failed: no other row runs.
  bool only_retried = false;

  // --- which rows, in which order ---

  // Only the first so many rows of the input are considered (blank lines do not count); a later
  // run without it goes on. 0 takes none, which nobody can ask for by a flag.
  std::optional<int64_t> rows_max;

  // Check the whole input first; refuse to run when any line is at fault.
  bool strict = false;

  // When all rows are done, put both logs in the order of the input.
  bool ordered = false;

  // --- how rows become requests ---

  // Laid under every body: a field that its endpoint has and the body lacks (or has as null) gets
  // this value. Entered into the job record by JobRunner itself, as settings named "set FIELD".
  boost::json::object body_defaults;

  // The names that body.model may have. With `any_model` any name will do and the first of these
  // is what the answer says when the body names none; otherwise a name that is not here fails its
  // row with 404 model_not_found, listing these. At least one.
  std::vector<std::string> models;
  bool any_model = false;

  // Servers elsewhere answer: bodies go there as they were written and are not judged here
  // (RowRules::raw).
  bool raw = false;

  // A field that is not known fails its row, or is left out and counted (JobReport).
  llm::UnknownFields unknown_fields = llm::UnknownFields::kRefuse;

  // In whose words rows may be asked besides those of the endpoints (row_words.h).
  RowApis apis;

  // An answer that was to have a structure and was cut before it was whole is a result; else its
  // row fails (truncated.h).
  bool keep_truncated = false;

  // Every option that alters answers, in the order people should see them, as far as it is known
  // before a model is loaded; the rest is given to JobRunner::run. Body defaults not included.
  std::vector<JobSetting> settings;

  // The moment that a new job begins, for prompts that tell the date (JobStart::began_unix_s).
  int64_t now_unix_s = 0;

  // --- how much lies in memory ---

  // Rows that were read and wait for their turn: among these the next one is chosen.
  LookAhead look_ahead;

  // Of outcomes that wait for the disk: whoever answers waits too, when there are more.
  size_t unwritten_bytes_max = size_t{16} << 20;

  // --- how it ends ---

  // How long running rows may go on after JobRunner::stop(), before they are cancelled.
  Duration grace = std::chrono::seconds(10);

  // No person waits for its end: who runs it goes on by himself, so that errors do not say how.
  bool unattended = false;
};

}  // namespace windrow::batch
