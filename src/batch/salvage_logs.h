// Salvaging damaged logs of a job: sound lines stay, so that their rows are neither asked nor paid
// for again, and all other rows run again. A server does this for its batches; `windrow run`
// refuses damaged logs instead, and its message says what to do.
//
// The files are copied unchanged to the names that --fresh would use before the new logs replace
// them. If the process is killed in between, the logs are salvaged again; no sound line is lost at
// any moment.
#pragma once

#include <boost/json/value.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "batch/input.h"
#include "batch/job_options.h"
#include "batch/line_source.h"
#include "batch/log_scan.h"
#include "batch/row.h"
#include "batch/row_reader.h"
#include "batch/row_table.h"
#include "json/parse.h"
#include "store/disk.h"

namespace windrow::batch {

// SoundLines: decides which lines of damaged logs are sound: complete lines that Windrow wrote, and
// that answer a row of the input as it is now; the first for each row. Pure; 16 bytes a row. Used
// by one thread.
class SoundLines {
 public:
  // `form`: of the input's rows.
  explicit SoundLines(RowForm form = RowForm::kRequests)
      : reader_(RowRules{.models = {"any"}, .any_model = true, .raw = true, .form = form}) {}

  // Adds a line of the input. All lines are added, in order, before judge() is called.
  void add_input(const Line& line);

  // Judges a whole line of a log, without its line end; all of the results before the errors.
  // Returns why it is not sound ("it is not JSON"), or nothing. No later line of the same row is
  // sound.
  std::optional<std::string_view> judge(LogKind kind, std::string_view text);

 private:
  bool add(const RowKey& key);
  std::optional<std::string_view> judge(LogKind kind, const boost::json::value& value);

  // Identities and fingerprints depend on the form and on no other rule.
  const RowReader reader_;
  RowTable rows_;
  JsonLineParser parsed_;
};

struct Salvage {
  int64_t kept = 0;  // sound lines
  int64_t lost = 0;  // all others, with a torn end

  // About the first lost line: "results.jsonl: line 5: it is not JSON". Empty: no line was lost,
  // and only the job record was damaged.
  std::string why;

  std::vector<std::string> aside;  // the names of the copies
};

// Rewrites the logs and the record, so that a job with these options continues from the sound
// lines. The caller knows that the lines were made with `options`. `input` can be read more than
// once. When it fails, it has changed nothing but made copies:
//   kInvalid   the options or the output path cannot be used, or the input is damaged
//   kNotFound  the input, or the output's folder
//   kConflict  another process holds the output
//   kDiskFull, kIo
Result<Salvage> salvage_logs(const JobOptions& options, store::Disk& disk, Input& input);

// The name of the new log until it replaces the old one; left behind only by a killed process.
std::string salvaged_temporary(const std::string& path);

}  // namespace windrow::batch
