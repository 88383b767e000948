// Dispatcher: the policies around a Backend: how many requests are in flight, and which failures
// are tried again. The workloads above submit here and never to a Backend.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>

#include "llm/backend.h"

namespace windrow::dispatch {

struct DispatchOptions {
  int32_t in_flight_max = 0;  // 0: what the backend says keeps it busy
  int32_t attempts_max = 3;   // of a request whose failures are transient
};

struct DispatchResult {
  llm::Outcome outcome;
  int32_t attempts = 1;
};

// Thread-safe. The destructor waits until every request in flight has ended; cancel first if that
// should not take long.
class Dispatcher {
 public:
  // Called exactly once per accepted request, on a thread of the backend's.
  using Done = std::function<void(DispatchResult)>;

  // `backend` must outlive the dispatcher.
  Dispatcher(llm::Backend& backend, DispatchOptions options);
  ~Dispatcher();
  Dispatcher(const Dispatcher&) = delete;
  Dispatcher& operator=(const Dispatcher&) = delete;

  // Blocks while as many are in flight as may be. False, and nothing happens to the request, once
  // admission has stopped: also for those who were waiting.
  [[nodiscard]] bool submit(llm::Request request, Done done);

  // submit answers false from now on; what is in flight goes on.
  void stop_admitting();

  // End with kCancelled what has not started, or everything: also what is handed to the backend at
  // this moment, for the first time or again. Nothing is tried again after either: a failure that
  // would have been ends as kCancelled too. Any thread, also from within a Done.
  void cancel_waiting();
  void cancel_all();

  // Blocks until nothing is in flight.
  void wait_idle();

  int32_t in_flight() const;
  // What a backend says may change: it may open more of itself when it is asked to.
  int32_t in_flight_max() const;

 private:
  struct Attempt;
  enum class Cancel : uint8_t { kNothing, kWaiting, kAll };

  void start(const std::shared_ptr<Attempt>& attempt, int64_t cancels_seen);
  void ended(const std::shared_ptr<Attempt>& attempt, llm::Outcome outcome);
  void cancel(Cancel what);
  void pass_on(Cancel what);

  llm::Backend& backend_;
  const int32_t attempts_max_;
  const int32_t in_flight_max_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  int32_t in_flight_ = 0;
  int32_t starting_ = 0;  // calls of start() that go on
  bool admitting_ = true;
  Cancel cancelled_ = Cancel::kNothing;  // the most that was asked for
  int64_t cancels_ = 0;                  // how often it was
};

}  // namespace windrow::dispatch
