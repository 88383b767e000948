// ProgramRig: what `windrow exec` makes of a model and a program, without files: a fleet with its
// dispatcher, the models that programs ask, and the loop that runs them. The model is simulated, so
// what is measured is everything but a model.
#pragma once

#include <boost/json/object.hpp>
#include <boost/unordered/unordered_flat_set.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "fleet/fleet_options.h"
#include "fleet/local_job_fleet.h"
#include "fleet/routed_models.h"
#include "llm/backend.h"
#include "llm/step_report.h"
#include "llm/tokenizer.h"
#include "program/models/dispatched_program_models.h"
#include "program/run/program_loop.h"
#include "program/trace/pass_log.h"

namespace windrow::program_bench {

// An instance that has ended well.
struct EndedRun {
  boost::json::value result;
  program::ProgramUsage usage;
};

// Its methods throw std::runtime_error with what went wrong: a measurement has nothing to go on
// with.
class ProgramRig {
 public:
  struct Options {
    std::string model = "sim:";
    int32_t rows_max = 256;  // in one forward pass
    program::ProgramLimits limits;

    // As ProgramLoopOptions: a line of log(), on the program thread.
    std::function<void(std::string_view line)> on_log;
  };

  ProgramRig(Options options, std::string source);
  ~ProgramRig();
  ProgramRig(const ProgramRig&) = delete;
  ProgramRig& operator=(const ProgramRig&) = delete;

  // Starts one instance for each input and waits for all of them. In the order of the inputs.
  std::vector<EndedRun> run(const std::vector<boost::json::object>& inputs);

  // Starts them and returns; what becomes of them is not asked for.
  void start(const std::vector<boost::json::object>& inputs);

  const llm::Tokenizer& tokenizer() const { return *tokenizer_; }
  const Clock& clock() const { return clock_; }
  llm::BackendStats stats() const { return fleet_->stats(); }
  program::ProgramLoop::Reading reading() const { return loop_->reading(); }

  // The calls of programs that wait for their answer, wherever.
  int64_t calls_waiting() const;

  // The processor time of the program thread when the last instance ended.
  double thread_seconds() const;

  // From now on the rows of passes are counted, each tag once, until `rows` of them were seen.
  void watch_rows(size_t rows);

  // When the pass ended in which the last of them took part; nothing while there are fewer.
  std::optional<TimePoint> rows_seen_at() const;

 private:
  class Events;
  struct Watch {
    size_t rows = 0;
    boost::unordered_flat_set<uint64_t> tags;
    std::optional<TimePoint> seen_at;
  };

  void on_rows(const llm::StepReport& step, std::span<const llm::RowTrace> rows);

  const SystemClock clock_;
  program::PassLog passes_{clock_};
  mutable std::mutex mutex_;  // for the two below
  Watch watch_;
  double thread_seconds_ = 0;

  // Destroyed from the last to the first.
  std::unique_ptr<Events> events_;
  std::unique_ptr<fleet::LocalJobFleet> fleet_;
  std::shared_ptr<const llm::Tokenizer> tokenizer_;
  std::unique_ptr<fleet::RoutedModels> routes_;
  std::unique_ptr<program::DispatchedProgramModels> models_;
  std::unique_ptr<program::ProgramLoop> loop_;
};

}  // namespace windrow::program_bench
