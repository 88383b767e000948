// LastRun: what the summary file of a job's last run says, as far as later runs need it. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace windrow::batch {

// What the summary of the last run says.
struct LastRun {
  std::string end;  // as RunEnd is written
  std::string error;
  int64_t rows_total = -1;  // -1: not known
  int64_t rows_left = -1;
  int64_t rows_succeeded = -1;

  // How long the logs were then; -1 where the summary does not say.
  int64_t results_bytes = -1;
  int64_t errors_bytes = -1;
};

// Returns nothing if the text is not a summary.
std::optional<LastRun> read_last_run(std::string_view summary);

}  // namespace windrow::batch
