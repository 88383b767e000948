// Dispatcher: the policies around one Backend or several: how many requests are in flight, which
// goes where and when, and which failures are tried again. The workloads above submit here and
// never to a Backend. It drives a Scheduler, which decides.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "dispatch/scheduler.h"
#include "dispatch/waker.h"
#include "llm/backend.h"

namespace windrow::dispatch {

struct DispatchOptions {
  int32_t in_flight_max = 0;  // of each upstream; 0: what its backend says keeps it busy
  int32_t attempts_max = 3;   // of a request whose failures are transient

  // Beyond what is in flight: requests among which the next one is chosen.
  int32_t waiting_max = 0;

  Duration backoff_base{};  // RetryOptions
  std::vector<QuotaOptions> quotas = {{}};
  LaneOptions lanes;
  RouterOptions router;
  Cost cost_max = 0;
  uint64_t seed = 1;
};

// One that answers. The backend outlives the dispatcher.
struct DispatchUpstream {
  llm::Backend* backend = nullptr;

  // Measured while it runs; without it, DispatchOptions::in_flight_max counts.
  std::optional<ConcurrencyOptions> concurrency;
  size_t quota = 0;
};

struct DispatchResult {
  llm::Outcome outcome;
  int32_t attempts = 1;  // sendings of the request

  // What all of them used, as far as it was told; a shared answer costs its first asker alone.
  int64_t tokens = 0;

  // Why the last but one failed; empty where there was one.
  std::string earlier_failure;
};

// A reading of this moment.
struct UpstreamReading {
  int32_t in_flight = 0;
  int32_t in_flight_max = 0;
  Health health = Health::kGood;
  ConcurrencyFinding finding;
};

// Thread-safe. The destructor waits until every request in flight has ended; cancel first if that
// should not take long.
class Dispatcher {
 public:
  // Called exactly once per accepted request: on a thread of a backend's or of the waker's, or on
  // one that submits or cancels.
  using Done = std::function<void(DispatchResult)>;

  // `backend` must outlive the dispatcher.
  Dispatcher(llm::Backend& backend, DispatchOptions options);

  // `clock` and `waker` too; the waker belongs to this dispatcher alone.
  Dispatcher(std::vector<DispatchUpstream> upstreams, DispatchOptions options, const Clock& clock,
             Waker& waker);

  ~Dispatcher();
  Dispatcher(const Dispatcher&) = delete;
  Dispatcher& operator=(const Dispatcher&) = delete;

  // Blocks while as many are unfinished as may be. False, and nothing happens to the request, once
  // admission has stopped: also for those who were waiting. `item` says what policies want to know;
  // its id is set here. `expected` is what the request will cost at most, for cost_max.
  [[nodiscard]] bool submit(llm::Request request, Done done) {
    return submit(std::move(request), WorkItem{}, 0, std::move(done));
  }
  [[nodiscard]] bool submit(llm::Request request, WorkItem item, Cost expected, Done done);

  // submit answers false from now on; what is in flight goes on.
  void stop_admitting();

  // End with kCancelled what has not started, or everything: also what is handed to the backend at
  // this moment, for the first time or again. Nothing is tried again after either: a failure that
  // would have been ends as kCancelled too. Any thread, also from within a Done.
  void cancel_waiting();
  void cancel_all();

  // Blocks until nothing is in flight.
  void wait_idle();

  // Accepted and not ended.
  int32_t in_flight() const;
  // So many may be. What a backend says may change: it may open more of itself when it is asked to.
  int32_t in_flight_max() const;

  // In the order they were given.
  std::vector<UpstreamReading> readings() const;
  bool budget_is_spent() const;

 private:
  enum class Cancel : uint8_t { kNothing, kWaiting, kAll };

  struct Entry {
    llm::Request request;
    Done done;
    std::optional<llm::Outcome> outcome;  // of the last call
    int64_t tokens = 0;
    std::string earlier_failure;
  };

  // What is to be done when the lock is not held.
  struct Hand {
    UpstreamId upstream;
    CallId call;
    ItemId item;
    llm::Request request;
    int64_t cancels_seen = 0;
  };
  struct Finish {
    Done done;
    DispatchResult result;
  };
  using Deed = std::variant<Hand, Finish>;
  using Deeds = std::vector<Deed>;
  struct Running;

  Dispatcher(std::vector<DispatchUpstream> upstreams, DispatchOptions options, const Clock* clock,
             Waker* waker);

  // --- with the lock ---
  bool has_room() const;
  int32_t room() const;
  void tell_limits();
  Deeds deeds_of(const Actions& actions);
  Finish finish(const Ended& ended, const std::unordered_map<ItemId, llm::Outcome>& shared);
  template <class Event>
  Deeds decide(Event event);

  // --- without ---
  void run(Deeds deeds);
  void carry_out(Hand hand);
  void carry_out(Finish finish);
  void call_ended(CallId call, ItemId item, llm::Outcome outcome);
  void wake();
  void cancel(Cancel what);
  void pass_on(Cancel what);

  const std::vector<DispatchUpstream> upstreams_;
  const int32_t in_flight_max_;
  const int32_t waiting_max_;
  const SystemClock own_clock_;
  std::unique_ptr<Waker> own_waker_;
  const Clock& clock_;
  Waker& waker_;

  static thread_local Running* running_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Scheduler scheduler_;
  std::unordered_map<ItemId, Entry> entries_;
  uint64_t submitted_ = 0;
  int32_t in_flight_ = 0;
  int32_t starting_ = 0;  // requests that are being handed over
  bool admitting_ = true;
  Cancel cancelled_ = Cancel::kNothing;  // the most that was asked for
  int64_t cancels_ = 0;                  // how often it was
};

}  // namespace windrow::dispatch
