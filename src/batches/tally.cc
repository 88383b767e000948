#include "batches/tally.h"

#include <memory>
#include <optional>
#include <string_view>

#include "batch/log_scan.h"
#include "report/log_tally.h"

namespace windrow::batches {
namespace {

// Up to where the log is whole.
Result<int64_t> read(store::Disk& disk, const std::string& path, batch::LogKind kind,
                     report::LogTally& tally) {
  const Result<std::unique_ptr<store::ReadFile>> file = disk.open_read(path);
  if (!file && file.error().kind == ErrorKind::kNotFound) return int64_t{0};
  if (!file) return file.error();
  batch::LogLines lines(**file);
  for (uint64_t number = 1;; ++number) {
    const Result<std::optional<std::string_view>> line = lines.next();
    if (!line) return line.error();
    if (!*line) return static_cast<int64_t>(lines.offset());
    if (!tally.read(kind, number, **line)) continue;
    if (kind == batch::LogKind::kResults) {
      tally.count_result();
    } else {
      tally.count_failure();
    }
  }
}

}  // namespace

Result<BatchTally> tally(store::Disk& disk, const std::string& results, const std::string& errors) {
  // It has a buffer and histograms in it.
  const auto logs = std::make_unique<report::LogTally>();
  BatchTally sums;
  const Result<int64_t> results_bytes = read(disk, results, batch::LogKind::kResults, *logs);
  if (!results_bytes) return results_bytes.error();
  const Result<int64_t> errors_bytes = read(disk, errors, batch::LogKind::kErrors, *logs);
  if (!errors_bytes) return errors_bytes.error();
  sums.results_bytes = *results_bytes;
  sums.errors_bytes = *errors_bytes;
  sums.odd = logs->odd(batch::LogKind::kResults).lines + logs->odd(batch::LogKind::kErrors).lines;
  sums.completed = logs->succeeded();
  sums.failed = logs->failed();
  for (const auto& [name, model] : logs->models()) {
    sums.usage.input_tokens += model.tokens.prompt;
    sums.usage.cached_tokens += model.tokens.cached;
    sums.usage.output_tokens += model.tokens.completion;
    sums.usage.reasoning_tokens += model.tokens.reasoning;
  }
  return sums;
}

}  // namespace windrow::batches
