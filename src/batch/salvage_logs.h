// Salvaging the logs of a job of which something is damaged: what of their lines is sound stays, so
// that its rows are neither asked nor paid for again, and the rest runs once more. For who has
// nobody to ask; `windrow run` refuses such logs and says what a person can do.
//
// The files are copied as they are, under the names --fresh would give them, before the new logs
// take their places. A process that dies in between leaves logs that are salvaged again; nothing
// that was sound is lost at any moment.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "batch/input.h"
#include "batch/job_options.h"
#include "store/disk.h"

namespace windrow::batch {

struct Salvage {
  int64_t kept = 0;  // lines that are sound
  int64_t lost = 0;  // and those that are not, with a torn end

  // Of the first that is lost: "results.jsonl: line 5: it is not JSON". Empty: none is, and it was
  // the job record that was not as it must be.
  std::string why;

  std::vector<std::string> aside;  // the names of the copies
};

// Afterwards a job with these options goes on from what is left. Its record says from now on what
// `options` say: who calls this knows that its lines were made with them. The input is one that can
// be read again. Changes nothing but copies when it fails:
//   kInvalid   the options or the output path cannot be used, or the input is damaged
//   kNotFound  the input, or the output's folder
//   kConflict  another process holds the output
//   kDiskFull, kIo
Result<Salvage> salvage_logs(const JobOptions& options, store::Disk& disk, Input& input);

// What it writes first; of no use to anybody once it has ended.
std::string salvaged_temporary(const std::string& path);

}  // namespace windrow::batch
