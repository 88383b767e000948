#include "app/commands/commands.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/process/console.h"
#include "app/settings/program_settings.h"
#include "app/settings/resolve_settings.h"
#include "base/clock.h"
#include "batch/job_paths.h"
#include "batch/job_record.h"
#include "batch/job_runner.h"
#include "report/failure_counts.h"
#include "store/posix_disk.h"

namespace windrow::app {
namespace {

// Its program is not in the record, only which one it was.
std::optional<Error> error_of_programs(store::Disk& disk, const batch::JobPaths& paths) {
  const Result<std::string> text = disk.read_all(paths.record);
  if (!text) return std::nullopt;
  const Result<batch::JobRecord> record = batch::parse_job_record(*text, paths.record);
  if (!record) return std::nullopt;
  const auto program =
      std::ranges::find(record->settings, kProgramSetting, &batch::JobSetting::name);
  if (program == record->settings.end()) return std::nullopt;
  return Error{ErrorKind::kInvalid,
               fmt::format("{} is a job of windrow exec; run its failed rows again with windrow "
                           "exec {} --input {} -o {} --retry-failed, and the other flags it was "
                           "run with",
                           paths.results, program->value.substr(0, program->value.find(',')),
                           record->input, paths.results)};
}

Result<std::string> input_of_record(store::Disk& disk, const batch::JobPaths& paths) {
  const Result<std::string> text = disk.read_all(paths.record);
  if (!text) {
    if (text.error().kind != ErrorKind::kNotFound) return text.error();
    return Error{
        ErrorKind::kNotFound,
        fmt::format("{}, which names the input, is gone; name it with --input", paths.record)};
  }
  Result<batch::JobRecord> record = batch::parse_job_record(*text, paths.record);
  if (!record) return record.error();
  if (record->input == "-") {
    return Error{ErrorKind::kInvalid,
                 "the job read its input from standard input; name a file that has the failed rows "
                 "with --input, or write --input - and give it again"};
  }
  if (!disk.exists(record->input)) {
    return Error{ErrorKind::kNotFound,
                 fmt::format("the input of the job, {}, does not exist; name it with --input, or "
                             "change to the folder in which `windrow run` was started",
                             record->input)};
  }
  return std::move(record->input);
}

// Absent where no row failed.
Result<std::optional<RunCommand>> plan_retry(const RetryCommand& command, store::Disk& disk) {
  const Result<batch::JobPaths> paths = batch::find_job(disk, command.errors);
  if (!paths) return paths.error();
  if (std::optional<Error> error = error_of_programs(disk, *paths)) return *std::move(error);
  batch::FailureChoice choice;
  if (!command.only.empty()) {
    Result<batch::FailureChoice> named = batch::FailureChoice::parse(command.only);
    if (!named) return named.error().in("--only");
    choice = *std::move(named);
  }
  const auto failures = report::count_failures(disk, paths->errors);
  if (!failures) return failures.error();
  if (failures->empty()) return std::optional<RunCommand>();
  const bool any = std::ranges::any_of(*failures, [&](const report::FailureCount& failure) {
    return choice.takes(failure.status, failure.code);
  });
  if (!any) {
    std::vector<std::string> kinds;
    kinds.reserve(failures->size());
    for (const report::FailureCount& failure : *failures)
      kinds.push_back(report::failure_text(failure));
    return Error{ErrorKind::kInvalid,
                 fmt::format("--only {}: no row failed with this; there are {}", command.only,
                             fmt::join(kinds, ", "))};
  }
  std::string input = command.input;
  if (input.empty()) {
    Result<std::string> recorded = input_of_record(disk, *paths);
    if (!recorded) return recorded.error();
    input = *std::move(recorded);
  }
  return std::optional(RunCommand{.input = std::move(input),
                                  .output = paths->results,
                                  .flags = command.flags,
                                  .table = command.table,
                                  .only_retried = std::move(choice)});
}

}  // namespace

int retry_command(const RetryCommand& command, const Environment& environment) {
  const SystemClock clock;
  store::PosixDisk disk;
  std::optional<RunCommand> run;
  {
    const Result<ResolvedSettings> resolved = load_settings(command.flags, environment, disk);
    ConsoleOptions options;
    if (resolved) {
      options.quiet = resolved->values.quiet;
      options.json = resolved->values.json;
      options.color = resolved->values.color;
    }
    Console console(options, environment, clock);
    Result<std::optional<RunCommand>> planned = plan_retry(command, disk);
    if (!planned) {
      console.error(planned.error().message);
      return batch::exit_code(planned.error());
    }
    if (!*planned) {
      console.note("no row failed, so there is nothing to retry");
      return 0;
    }
    run = *std::move(planned);
  }
  return run_command(*run, environment);
}

}  // namespace windrow::app
