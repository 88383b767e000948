// OrderedExecutor: bodies of one lane are read one after the other, in the order in which they
// came, whatever their sizes and however many threads read: a lane keeps its order up to the
// dispatcher.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <unordered_map>

#include "api/calls/call_workers.h"

namespace windrow::api {

// Thread-safe. The workers outlive it, or are stopped first.
class OrderedExecutor {
 public:
  explicit OrderedExecutor(CallWorkers& workers) : workers_(workers) {}

  // The task goes to the workers, behind those of its lane that have not ended; 0: of no lane. Must
  // not throw.
  void post(uint64_t lane, CallWorkers::Task task, CallWorkers::Length length);

 private:
  struct Waiting {
    CallWorkers::Task task;
    CallWorkers::Length length = CallWorkers::Length::kShort;
  };

  void hand_on(uint64_t lane, Waiting next);
  void ended(uint64_t lane);

  CallWorkers& workers_;
  std::mutex mutex_;
  std::unordered_map<uint64_t, std::deque<Waiting>> lanes_;  // of which one is with the workers
};

}  // namespace windrow::api
