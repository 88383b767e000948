#include "app/commands/status_watch.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/process/console.h"
#include "base/format.h"
#include "base/utf8.h"
#include "json/writer.h"
#include "report/job_status.h"

namespace windrow::app {
namespace {

constexpr Duration kRedrawInterval = std::chrono::seconds(1);
constexpr Duration kLineInterval = std::chrono::seconds(10);

// The rows that failed in this run, by kind; a block on a terminal has to be short.
std::string failures_line(const report::ProgressNumbers& numbers) {
  constexpr size_t kKindsShown = 3;
  std::string text;
  for (size_t i = 0; i < std::min(numbers.failures.size(), kKindsShown); ++i) {
    const batch::FailureKind& kind = numbers.failures[i];
    const std::string status = kind.status == 0 ? "" : fmt::format("{} ", kind.status);
    text += fmt::format("{}{} x {}{}", text.empty() ? "" : ", ", with_thousands(kind.rows), status,
                        kind.code);
  }
  if (numbers.failures.size() > kKindsShown) text += ", ...";
  return text;
}

// At most so many bytes, and no half character at the end: a line that wraps would be drawn over
// wrongly.
std::string_view cut(std::string_view line, size_t bytes_max) {
  size_t end = std::min(line.size(), bytes_max);
  while (end < line.size() && end > 0 && (static_cast<unsigned char>(line[end]) & 0xC0U) == 0x80U)
    --end;
  return line.substr(0, end);
}

class Screen {
 public:
  explicit Screen(const WatchOptions& options) : options_(options) {}

  void draw(std::string_view block) {
    const size_t width = std::max<size_t>(options_.width(), 2) - 1;
    std::string text = erased();
    while (!block.empty()) {
      const size_t end = std::min(block.find('\n'), block.size());
      text += cut(block.substr(0, end), width);
      text += '\n';
      ++lines_;
      block.remove_prefix(std::min(end + 1, block.size()));
    }
    options_.write(text);
  }

  void erase() {
    if (lines_ > 0) options_.write(erased());
  }

 private:
  // Moves to the first line of the block and clears from there.
  std::string erased() {
    std::string text;
    if (lines_ > 0) text = fmt::format("\x1b[{}F\x1b[J", lines_);
    lines_ = 0;
    return text;
  }

  const WatchOptions& options_;
  size_t lines_ = 0;
};

std::string block_of(const std::string& holder, const std::optional<report::ProgressRecord>& record,
                     int64_t now_unix_s) {
  std::string text = fmt::format("{:<14}running: {}\n", "job", holder);
  if (!record) return text + fmt::format("{:<14}no row has run yet\n", "progress");
  text += report::progress_to_text(*record, now_unix_s - record->written_unix_s);
  if (const std::string failures = failures_line(record->numbers); !failures.empty())
    text += fmt::format("{:<14}{}\n", "failures", failures);
  return text + "Ctrl-C ends this display, not the job.\n";
}

std::string line_of(const report::ProgressNumbers& numbers, WatchForm form) {
  return form == WatchForm::kJson ? plain_json(report::progress_to_json(numbers))
                                  : report::progress_sentence(numbers);
}

}  // namespace

Result<WatchEnd> watch_job(store::Disk& disk, const batch::JobPaths& paths, const Clock& clock,
                           const WatchOptions& options) {
  const bool redrawn = options.form == WatchForm::kRedrawn;
  Screen screen(options);
  std::optional<batch::JobPhase> phase;
  TimePoint told_at;
  for (;;) {
    const auto holder = disk.lock_holder(paths.lock);
    if (!holder) return holder.error();
    if (!*holder) {
      screen.erase();
      return WatchEnd::kJobEnded;
    }
    const std::optional<report::ProgressRecord> record = report::read_progress_of(disk, paths);
    if (redrawn) {
      screen.draw(printable(block_of(**holder, record, clock.unix_seconds())));
    } else if (record &&
               (phase != record->numbers.phase || clock.now() - told_at >= kLineInterval)) {
      phase = record->numbers.phase;
      told_at = clock.now();
      if (const std::string line = line_of(record->numbers, options.form); !line.empty())
        options.write(printable(line) + "\n");
    }
    if (!options.wait(kRedrawInterval)) return WatchEnd::kStopped;
  }
}

}  // namespace windrow::app
