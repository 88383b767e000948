// CapacityGate: how many requests a dispatcher takes before its upstreams have room for them. A
// submitter that comes when it is full blocks here, which is the backpressure on the reader of a
// file; an offer of a server's client is turned away. When admission has stopped, both get nothing.
//
// It also counts the unfinished requests, for threads that wait until the dispatcher is idle.
//
// Used with the dispatcher's lock held. A submitter waits on that lock, so it is free meanwhile.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <stop_token>
#include <vector>

#include "dispatch/dispatch_options.h"
#include "dispatch/dispatch_policy.h"
#include "dispatch/work_item.h"

namespace windrow::dispatch {

// Whether submitters that wait for capacity should be woken. To wake a thread costs more than all
// else that is done for a request, so one that waits sleeps until half of what is queued before the
// upstreams has gone, and then brings as much. `free`: requests that may be taken; `waiting_max`:
// that may be queued; `waiting`: that are queued. With an empty queue the upstreams would soon be
// idle: then any capacity is enough. Pure.
constexpr bool is_worth_waking(int32_t free, int32_t waiting_max, size_t waiting) {
  return free > waiting_max / 2 || (free > 0 && waiting == 0);
}

class CapacityGate {
 public:
  // All three outlive it; `options` only the constructor.
  CapacityGate(const std::vector<DispatchUpstream>& upstreams, const DispatchOptions& options,
               DispatchPolicy& policy);

  // --- admission ---

  // Blocks until there is capacity for one request more. False: admission stopped, or `left` was
  // stopped and wake_submitters was called.
  [[nodiscard]] bool wait(std::unique_lock<std::mutex>& lock, const std::stop_token& left);

  // Whether an offered item is taken: as many as waiting_max may be queued, of its priority and
  // higher ones. An item that waits for the answer of an equal one needs no capacity.
  bool admits(const WorkItem& item) const;

  bool is_admitting() const { return admitting_; }

  // From now on wait() returns false, also where it blocks, and admits() too.
  void stop_admitting();

  // Makes blocked calls of wait() look again: at `left`, and whether there is capacity.
  void wake_submitters() { capacity_grew_.notify_all(); }

  // --- what is unfinished ---

  // A request was accepted; its Done has returned.
  void begin_request() { ++in_flight_; }
  void end_request();

  // A thread is about to call Backend::submit or a callback of DispatchOptions; it has returned.
  void begin_outside_call() { ++outside_calls_; }
  void end_outside_call();

  // Blocks until no request is unfinished and no thread is in such a call: then the backends and
  // what the callbacks use may be destroyed.
  void wait_idle(std::unique_lock<std::mutex>& lock);

  // --- limits ---

  // Tells the policy how many calls each upstream takes whose in-flight window is not measured.
  // Call it before each event of the policy.
  void update_limits();

  // Wakes the threads that wait for something that has happened: capacity, idleness. Call it after
  // each event of the policy.
  void wake_waiters();

  int32_t in_flight() const { return in_flight_; }                    // unfinished requests
  int32_t submitters_waiting() const { return submitters_waiting_; }  // blocked in wait()

  // How many requests may be unfinished: those that the upstreams take now and those that may be
  // queued.
  int32_t capacity() const;

 private:
  int32_t window_of(const DispatchUpstream& upstream) const;
  int32_t free() const;

  const std::vector<DispatchUpstream>& upstreams_;
  const int32_t in_flight_max_;
  const int32_t waiting_max_;
  DispatchPolicy& policy_;

  std::condition_variable capacity_grew_;
  std::condition_variable became_idle_;
  bool admitting_ = true;
  int32_t in_flight_ = 0;
  int32_t outside_calls_ = 0;
  int32_t submitters_waiting_ = 0;
};

}  // namespace windrow::dispatch
