// JobSimulation: one seed's job, from its first process to the one that finds nothing left to do:
// the whole runner (batch, dispatch, upstream) on a simulated disk, network, servers and time.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "batch/job_counters.h"
#include "simulate/canary.h"
#include "simulate/job_checks.h"
#include "simulate/job_plan.h"
#include "simulate/ledger.h"
#include "simulate/sim_client.h"
#include "simulate/trace.h"
#include "simulate/virtual_threads.h"
#include "store/testing/memory_disk.h"

namespace windrow::simulate {

struct JobSimulationOptions {
  uint64_t seed = 1;
  std::optional<int64_t> rows;
  Canary canary = Canary::kNone;
};

class JobSimulation {
 public:
  // `trace` outlives it.
  JobSimulation(const JobSimulationOptions& options, Trace& trace);
  JobSimulation(const JobSimulation&) = delete;
  JobSimulation& operator=(const JobSimulation&) = delete;

  // Ends the process with a report when an invariant does not hold.
  void run();

  int64_t steps() const { return steps_; }
  int64_t processes() const { return processes_; }

 private:
  void run_process(const Generation& generation);
  void be_a_process(const Generation& generation, ProcessEnd& end);
  void look(const Generation& generation);

  const Canary canary_;
  const JobPlan plan_;
  Trace& trace_;
  VirtualThreads threads_;
  const SystemClock clock_;
  Random random_;
  const JobChecks checks_;
  const int64_t equal_rows_;

  // State that outlives a process.
  store::testing::MemoryDisk disk_;
  std::vector<SimServer> servers_;
  Ledger ledger_;
  std::unique_ptr<batch::JobCounters> counters_;  // of the present one
  JobDisk found_;                                 // by the next process
  int64_t steps_ = 0;
  int64_t processes_ = 0;
};

}  // namespace windrow::simulate
