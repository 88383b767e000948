#include "app/commands/commands.h"

#include <fmt/format.h>
#include <unistd.h>

#include <boost/json/serialize.hpp>
#include <cstdio>
#include <optional>

#include "app/process/console.h"
#include "app/settings/price_settings.h"
#include "batch/job_paths.h"
#include "report/job_status.h"
#include "store/posix_disk.h"

namespace windrow::app {
namespace {

constexpr int kStatusExitUnusable = 2;

int fail_status(const Error& error) {
  fmt::print(stderr, "windrow: {}\n", printable(error.message));
  return kStatusExitUnusable;
}

size_t histogram_width(const StatusCommand& command) {
  const bool wanted = command.histogram.value_or(is_terminal(STDOUT_FILENO));
  return wanted ? terminal_width(STDOUT_FILENO) : 0;
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
  const Result<report::JobStatus> status = report::read_job_status(disk, *paths);
  if (!status) return fail_status(status.error());
  if (command.json) {
    fmt::print("{}\n", boost::json::serialize(report::status_to_json(*status, table)));
  } else {
    fmt::print("{}", printable(report::status_to_text(*status, table, histogram_width(command))));
  }
  return 0;
}

}  // namespace windrow::app
