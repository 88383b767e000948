// What `run` and `exec` have in common: a job from the opening of its files to its reports,
// whatever its rows are and however they are answered.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "app/commands/command_context.h"
#include "app/commands/select_fleet.h"
#include "app/process/signals.h"
#include "app/settings/run_options.h"
#include "base/result.h"
#include "batch/input.h"
#include "batch/job_options.h"
#include "batch/job_runner.h"
#include "fleet/job_fleet.h"
#include "llm/step_report.h"

namespace windrow::app {

inline constexpr int kExitBudgetSpent = 4;
inline constexpr int kExitInterrupted = 130;

// What answers the rows of a job, made from its fleet when that is open.
class RowsAnswerer {
 public:
  virtual ~RowsAnswerer() = default;

  // Both are asked once; the routes are valid while this lives.
  virtual std::vector<batch::ModelRoute> routes() = 0;
  virtual batch::RunHooks hooks() = 0;
};

struct JobToRun {
  std::string input;  // as the user named it
  std::string output;
  batch::JobOptions options;
  const FleetChoice& choice;

  // `hooks` are those of the fleet. The fleet outlives what is returned. An error, before any row
  // runs: why what the fleet has cannot answer them.
  std::function<Result<std::unique_ptr<RowsAnswerer>>(fleet::JobFleet& fleet,
                                                      fleet::JobHooks hooks)>
      answerer;

  llm::RowObserver on_rows = {};  // of the fleet's models
  std::string retry = {};         // report::Summary::retry

  // Its files are removed afterwards: it has neither reports nor a table of numbers at the end.
  bool unkept = false;
};

// Checks the files that are named, as far as that is possible without opening one. `more`: files
// that are read or written besides those of a job and of the settings. Errors: kInvalid, kNotFound.
Result<void> check_job_files(const std::string& input, const std::string& output,
                             const Settings& settings, std::span<const NamedFile> more = {});

// Downloads models that are remote. A signal ends the program meanwhile.
Result<void> fetch_models_of(FleetChoice& choice, CommandContext& context, StopRelay& relay);

// What a signal does before rows run: it ends the program, as there is nothing to lose.
StopRelay::Target leave_at_once(Console& console);

// Blocks until the job has ended. Returns the exit code of the program.
int run_job(JobToRun job, batch::Input& input, CommandContext& context, StopRelay& relay);

}  // namespace windrow::app
