#include "app/commands/commands.h"

#include <fmt/format.h>
#include <unistd.h>

#include <boost/json/serialize.hpp>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <optional>
#include <string_view>

#include "app/commands/status_watch.h"
#include "app/process/console.h"
#include "app/process/signals.h"
#include "app/settings/price_settings.h"
#include "base/clock.h"
#include "batch/job_paths.h"
#include "report/job_status.h"
#include "store/posix_disk.h"

namespace windrow::app {
namespace {

constexpr int kStatusExitUnusable = 2;
constexpr int kStatusExitInterrupted = 130;

int fail_status(const Error& error) {
  fmt::print(stderr, "windrow: {}\n", printable(error.message));
  return kStatusExitUnusable;
}

size_t histogram_width(const StatusCommand& command) {
  const bool wanted = command.histogram.value_or(is_terminal(STDOUT_FILENO));
  return wanted ? terminal_width(STDOUT_FILENO) : 0;
}

// Returns the exit code where there is nothing more to print.
std::optional<int> watch_until_end(store::Disk& disk, const batch::JobPaths& paths,
                                   const Clock& clock, bool json) {
  std::mutex mutex;
  std::condition_variable changed;
  bool stopped = false;
  const auto stop = [&] {
    const std::scoped_lock lock(mutex);
    stopped = true;
    changed.notify_all();
  };
  const SignalWatch signals([&](std::string_view) { stop(); }, stop);
  const WatchForm form = json                         ? WatchForm::kJson
                         : is_terminal(STDOUT_FILENO) ? WatchForm::kRedrawn
                                                      : WatchForm::kLines;
  const Result<WatchEnd> end =
      watch_job(disk, paths, clock,
                {.form = form,
                 .width = [] { return terminal_width(STDOUT_FILENO); },
                 .write =
                     [&](std::string_view text) {
                       // A reader that has gone wants no more.
                       if (!write_all(STDOUT_FILENO, text)) stop();
                     },
                 .wait =
                     [&](Duration time) {
                       std::unique_lock lock(mutex);
                       return !changed.wait_for(lock, time, [&] { return stopped; });
                     }});
  if (!end) return fail_status(end.error());
  if (*end == WatchEnd::kStopped) return kStatusExitInterrupted;
  return std::nullopt;
}

}  // namespace

int status_command(const StatusCommand& command) {
  store::PosixDisk disk;
  const Result<batch::JobPaths> paths = batch::find_job(disk, command.job);
  if (!paths) return fail_status(paths.error());
  std::optional<llm::PriceTable> prices;
  if (!command.prices.empty()) {
    Result<llm::PriceTable> table = read_price_file(disk, command.prices);
    if (!table) return fail_status(table.error());
    prices = *std::move(table);
  }
  const llm::PriceTable* table = prices ? &*prices : nullptr;
  const SystemClock clock;
  if (command.watch) {
    if (const std::optional<int> code = watch_until_end(disk, *paths, clock, command.json))
      return *code;
  }
  const Result<report::JobStatus> status = report::read_job_status(disk, *paths, clock);
  if (!status) return fail_status(status.error());
  if (command.json) {
    fmt::print("{}\n", boost::json::serialize(report::status_to_json(*status, table)));
  } else {
    fmt::print("{}", printable(report::status_to_text(*status, table, histogram_width(command))));
  }
  return 0;
}

}  // namespace windrow::app
