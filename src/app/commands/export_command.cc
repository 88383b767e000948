#include <string>
#include <utility>

#include "app/commands/commands.h"
#include "app/commands/run_job.h"
#include "app/commands/table_job.h"
#include "app/process/console.h"
#include "app/process/signals.h"
#include "app/settings/run_options.h"
#include "base/clock.h"
#include "batch/job_paths.h"
#include "batch/job_runner.h"
#include "store/posix_disk.h"
#include "table/table_writer.h"

namespace windrow::app {
namespace {

Result<bool> export_table(const ExportCommand& command, store::Disk& disk, Console& console,
                          StopRelay& relay) {
  Result<batch::JobPaths> paths = batch::find_job(disk, command.job);
  if (!paths) return paths.error();
  if (Result<void> checked = check_written_path("-o", command.output); !checked)
    return checked.error();
  return write_job_table({.paths = *std::move(paths),
                          .input = command.input,
                          .id = command.id,
                          .delimiter = delimiter_of_flag(command.delimiter),
                          .output = command.output,
                          .format = *table::table_format_of(command.output)},
                         disk, console, relay);
}

}  // namespace

int export_command(const ExportCommand& command, const Environment& environment) {
  StopRelay relay;
  const SignalWatch signals([&](std::string_view) { relay.stop(); }, [&] { relay.stop_now(); });
  const SystemClock clock;
  store::PosixDisk disk;
  Console console({.quiet = command.quiet}, environment, clock);
  const Result<bool> written = export_table(command, disk, console, relay);
  if (!written) {
    console.error(written.error().message);
    return batch::exit_code(written.error());
  }
  if (*written) return 0;
  console.error("interrupted; the table was not written");
  return kExitInterrupted;
}

}  // namespace windrow::app
