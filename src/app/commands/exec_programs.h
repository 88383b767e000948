// What runs the programs of `windrow exec` on top of an open fleet, and the trace of what they did.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/commands/run_job.h"
#include "app/process/console.h"
#include "app/settings/settings.h"
#include "base/clock.h"
#include "base/result.h"
#include "fleet/job_fleet.h"
#include "fleet/routed_models.h"
#include "llm/step_report.h"
#include "program/models/dispatched_program_models.h"
#include "program/rows/program_rows.h"
#include "program/run/program_loop.h"
#include "program/trace/pass_log.h"
#include "program/trace/trace.h"
#include "store/disk.h"

namespace windrow::app {

// Counts the passes of programs, and keeps a trace where one is wanted.
class ExecTrace {
 public:
  // `path`: of --trace; empty: there is none. `clock` outlives it.
  ExecTrace(std::string path, const Clock& clock);

  // For the fleet, which it outlives.
  llm::RowObserver observer();

  program::PassLog& passes() { return passes_; }
  program::Trace* trace() { return trace_ ? &*trace_ : nullptr; }

  // When nothing runs any more. A failure is only a warning.
  void write(store::Disk& disk, Console& console) const;

 private:
  const std::string path_;
  program::PassLog passes_;
  std::optional<program::Trace> trace_;
};

// Errors: kInvalid where servers answer, there is no --program-model, and they do not list exactly
// one model. The fleet is open.
Result<void> check_server_model(const fleet::JobFleet& fleet, const Settings& settings);

// Rows are inputs of one program. Destroyed, it cancels what runs, and waits for that.
class ExecPrograms final : public RowsAnswerer {
 public:
  // All of them outlive it. `hooks` are those of the fleet, which is open.
  ExecPrograms(std::shared_ptr<const program::Program> program, fleet::JobFleet& fleet,
               fleet::JobHooks hooks, ExecTrace& trace, const Settings& settings,
               const Clock& clock, Console& console);

  std::vector<batch::ModelRoute> routes() override;

  // Not those of the fleet: they are for requests to models, which are the calls of programs and
  // not their rows.
  batch::RunHooks hooks() override;

  program::ProgramRows& rows() { return rows_; }

 private:
  const std::string name_;
  const std::string server_model_;  // of contexts that name none; empty: it is a setting

  // Destroyed from the last to the first.
  fleet::RoutedModels routed_;
  program::DispatchedProgramModels models_;
  program::ProgramLoop loop_;
  program::ProgramRows rows_;
};

}  // namespace windrow::app
