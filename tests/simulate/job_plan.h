// JobPlan: everything that a seed decides about a simulated job: its input, its servers, and its
// generations, each a process that goes wrong in some way and is followed by the next.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "batch/row_planner.h"
#include "batch/testing/memory_input.h"
#include "dispatch/dispatcher.h"
#include "simulate/job_input.h"
#include "simulate/server_plan.h"
#include "simulate/virtual_threads.h"
#include "store/testing/faulty_disk.h"

namespace windrow::simulate {

// One process.
struct Generation {
  // --- what goes wrong ---
  store::testing::Faults disk;
  std::optional<int64_t> dies_at_operation;  // of the disk
  std::optional<int64_t> dies_at_step;
  bool power_is_lost = false;  // afterwards, however it ended
  std::optional<Duration> stops_at;
  std::optional<Duration> stops_now_at;
  std::vector<ServerPlan> servers;

  // --- what it is asked to do ---
  std::optional<int64_t> rows_max;
  bool ordered = false;
  bool retry_failed = false;
  bool only_retried = false;
  batch::LookAhead look_ahead;
  size_t unwritten_bytes_max = size_t{16} << 20;
  Duration grace{};
  Duration request_timeout = std::chrono::minutes(1);
  batch::testing::MemoryInputOptions input;
  bool plain_dispatcher = false;  // as for models in this process; there is one server then
  dispatch::DispatchOptions dispatch;
  std::optional<dispatch::ConcurrencyOptions> concurrency;
  uint64_t seed = 1;  // of its network and disk

  bool disk_breaks() const;
};

struct JobPlan {
  ThreadOptions threads;
  JobInput input;
  std::vector<Generation> generations;  // those in which something may go wrong
  Generation last;                      // in which nothing does
};

// `rows`: of the input; absent: drawn.
JobPlan draw_plan(uint64_t seed, std::optional<int64_t> rows);

}  // namespace windrow::simulate
