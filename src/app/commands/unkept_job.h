// Jobs whose results are printed and not kept: `run --preview N`, and `run --no-resume -o -` in a
// pipeline. They are jobs like others in a folder that is removed at the end.
#pragma once

#include <optional>
#include <string>

#include "app/process/console.h"
#include "app/process/signals.h"
#include "base/result.h"
#include "batch/input.h"
#include "batch/job_options.h"
#include "store/disk.h"
#include "table/table_writer.h"

namespace windrow::app {

// A folder of the system's for temporary files, which only this user can read.
class ScratchFolder {
 public:
  // kIo: there can be none.
  static Result<ScratchFolder> make();

  ScratchFolder(ScratchFolder&& other) noexcept : path_(std::move(other.path_)) {
    other.path_.clear();
  }
  ScratchFolder& operator=(ScratchFolder&&) = delete;
  ~ScratchFolder();

  std::string results() const { return path_ + "/results.jsonl"; }

 private:
  explicit ScratchFolder(std::string path) : path_(std::move(path)) {}

  std::string path_;  // empty: moved from
};

// Prints what the first `count` lines of `input` asked and what the job at `results` answered.
Result<void> print_preview(batch::Input& input, int64_t count, const std::string& results,
                           store::Disk& disk, Console& console);

// Prints the lines of both logs, or a table of them.
Result<void> print_results(batch::Input& input, const std::string& results,
                           std::optional<table::TableFormat> format, store::Disk& disk,
                           Console& console);

}  // namespace windrow::app
