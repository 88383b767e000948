// DispatchSimulation: one seed's requests of all kinds, given to one dispatcher by several threads:
// lanes, priorities, deadlines and cancels, which the rows of a job do not have.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "dispatch/dispatcher.h"
#include "dispatch/work_item.h"
#include "simulate/canary.h"
#include "simulate/ledger.h"
#include "simulate/server_plan.h"
#include "simulate/sim_client.h"
#include "simulate/trace.h"
#include "simulate/virtual_threads.h"

namespace windrow::simulate {

// One request, and what became of it.
struct Task {
  std::string word;
  dispatch::WorkItem item;            // the deadline is set when it is submitted
  std::optional<Duration> time_left;  // until its deadline
  Duration pause{};                   // before it is submitted
  std::optional<Duration> stays;      // then it is cancelled; such a one does not wait to be let in

  std::optional<bool> accepted;
  uint64_t accepted_number = UINT64_MAX;  // of the ledger's
  uint64_t left_number = UINT64_MAX;
  uint64_t ended_number = UINT64_MAX;
  int32_t ends = 0;
  std::optional<dispatch::DispatchResult> result;
};

struct DispatchPlan {
  ThreadOptions threads;
  std::vector<ServerPlan> servers;
  dispatch::DispatchOptions dispatch;
  std::optional<dispatch::ConcurrencyOptions> concurrency;
  Duration request_timeout{};
  std::vector<std::vector<Task>> submitters;  // a thread each

  enum class Cancel : uint8_t { kNone, kWaiting, kAll, kStop };
  Cancel cancel = Cancel::kNone;
  Duration cancel_at{};
  uint64_t seed = 1;
};

DispatchPlan draw_dispatch_plan(uint64_t seed);

class DispatchSimulation {
 public:
  // `trace` outlives it.
  DispatchSimulation(uint64_t seed, Canary canary, Trace& trace);
  DispatchSimulation(const DispatchSimulation&) = delete;
  DispatchSimulation& operator=(const DispatchSimulation&) = delete;

  // Ends the process with a report when an invariant does not hold.
  void run();

  int64_t steps() const { return threads_.steps(); }

 private:
  void be_a_process();
  void submit_all(dispatch::Dispatcher& dispatcher, std::vector<Task>& tasks);
  std::optional<dispatch::ItemId> submit(dispatch::Dispatcher& dispatcher, Task& task);
  void cancel(dispatch::Dispatcher& dispatcher);
  void check_ends() const;
  void check_lanes() const;
  void check_cancel() const;
  void check_leavers() const;
  void check_priorities() const;
  std::vector<const Sending*> sendings_of(const Task& task) const;

  const Canary canary_;
  DispatchPlan plan_;
  Trace& trace_;
  VirtualThreads threads_;
  const SystemClock clock_;
  std::vector<SimServer> servers_;
  Ledger ledger_;
  // Numbers of the ledger's: before the cancel, and after it.
  uint64_t cancels_ = UINT64_MAX;
  std::optional<uint64_t> cancelled_;
  TimePoint cancelled_at_{};
};

}  // namespace windrow::simulate
