// Dispatcher: what workloads submit requests to, in front of one Backend or several. It decides how
// many requests are in flight, which goes where and when, and which failures are tried again.
//
// It is the driver of a DispatchPolicy, which decides: one lock around the policy; what the policy
// orders (a call, an end, a cancellation) is done after the lock was released, by the thread that
// brought the event. OpenItems keeps what the items are, CapacityGate how many there may be.
//
// Done and on_delta are called without a lock, on a thread of a backend's or of the waker's, or on
// one that submits, offers or cancels. They may call any method but submit and wait_idle, which
// block, and the destructor; on_delta may not offer either.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/hash.h"
#include "dispatch/capacity_gate.h"
#include "dispatch/dispatch_options.h"
#include "dispatch/dispatch_policy.h"
#include "dispatch/open_items.h"
#include "dispatch/submitter.h"
#include "dispatch/waker.h"
#include "llm/backend.h"

namespace windrow::dispatch {

// A reading of this moment.
struct UpstreamReading {
  int32_t in_flight = 0;  // calls, or the slots they take (UpstreamOptions::slots_by_rows)
  int32_t in_flight_max = 0;
  Health health = Health::kGood;
  ConcurrencyFinding finding;
};

struct DispatchCounts : DispatchPolicyCounts {
  int64_t cached = 0;  // requests that were answered from the cache
  Cost spent = 0;
};

// Thread-safe.
class Dispatcher final : public Submitter {
 public:
  // `backend` outlives the dispatcher.
  Dispatcher(llm::Backend& backend, DispatchOptions options);

  // The backends, `clock` and `waker` outlive it; the waker belongs to this dispatcher alone.
  Dispatcher(std::vector<DispatchUpstream> upstreams, DispatchOptions options, const Clock& clock,
             Waker& waker);

  // As stop_admitting and wait_idle; cancel first if that should not take long. No other method may
  // be running on another thread.
  ~Dispatcher() override;
  Dispatcher(const Dispatcher&) = delete;
  Dispatcher& operator=(const Dispatcher&) = delete;

  // --- requests ---

  [[nodiscard]] bool submit(llm::Request request, Done done) {
    return submit(std::move(request), WorkItem{}, 0, std::move(done));
  }
  [[nodiscard]] bool submit(llm::Request request, WorkItem item, Cost expected,
                            Done done) override {
    return submit(std::move(request), item, expected, std::move(done), std::stop_token{})
        .has_value();
  }

  // Submitter::submit, which also gives up when `left` is stopped while it blocks. Returns the name
  // for cancel(); the request may have ended already. Nothing: it was not accepted, and its Done is
  // never called.
  [[nodiscard]] std::optional<ItemId> submit(llm::Request request, WorkItem item, Cost expected,
                                             Done done, std::stop_token left,
                                             Delivery delivery = {});

  // As submit, but never blocks: nothing when DispatchOptions::waiting_max are queued, or admission
  // has stopped. Only requests of its priority or a higher one count against it, so that batches
  // keep no client out, and an item that is equal to one that is open (WorkItem::same_answer) needs
  // no capacity.
  //
  // With a listener, deltas come before Done. After the first one a failure is not tried again.
  // Equal requests with listeners share one answer; one that comes later gets it from the
  // beginning.
  [[nodiscard]] std::optional<ItemId> offer(llm::Request request, WorkItem item, Cost expected,
                                            Done done, Delivery delivery = {});

  // The request ends with kCancelled, soon, wherever it is; a call that is out may still end it
  // otherwise. Requests that share its answer still get it; the call is stopped, by
  // BackendCall::unwanted, when the last one has gone. Nothing happens when it has ended.
  void cancel(ItemId item);

  // The same, unless it is with a backend and does not just wait for its model to be loaded.
  void cancel_unless_out(ItemId item);

  // No request is accepted from now on; blocked submitters return.
  void stop_admitting() override;

  // End what is queued here, and ask the backends, by the tokens of the calls that are out, to end
  // calls that have not started, or all. Nothing is tried again after either: a failure that would
  // have been ends as kCancelled too.
  void cancel_waiting() override;
  void cancel_all() override;

  // Blocks until no request is unfinished, and no thread is in a backend or in a callback of the
  // options on behalf of this dispatcher.
  void wait_idle();

  // --- readings ---

  // llm::Backend::count_prompt of the first upstream, at once: nothing is sent and nothing waits.
  std::variant<int64_t, llm::Failure> count_prompt(const llm::Request& request) const;

  // llm::Backend::hold of the first upstream.
  std::unique_ptr<llm::PrefixHold> hold(std::vector<int32_t> tokens) const;

  // Whether it is queued here, for the first time or again. False for one that has ended.
  bool is_waiting(ItemId item) const;

  QueueReading queue() const;
  std::vector<TenantReading> tenants() const;     // in no particular order
  std::vector<UpstreamReading> readings() const;  // in the order of the constructor's
  DispatchCounts counts() const;
  RetryReading retries() const;
  bool budget_is_spent() const;

  // Requests that were accepted and have not ended; how many of them there may be, which changes
  // when a backend opens more of itself; threads that are blocked in submit.
  int32_t in_flight() const;
  int32_t in_flight_max() const;
  int32_t submitters_waiting() const;

 private:
  // What is to be done once the lock is released.
  struct SendCall {
    UpstreamId upstream;
    int64_t tokens = 0;
    PackReason reason = PackReason::kAlone;
    PreparedCall prepared;
  };
  struct StopCall {
    std::stop_source stops;
  };
  struct BudgetSpent {};
  struct AtCallsMax {};
  using Effect = std::variant<SendCall, CompletedItem, StopCall, BudgetSpent, AtCallsMax>;
  using Effects = std::vector<Effect>;
  struct Running;

  Dispatcher(std::vector<DispatchUpstream> upstreams, DispatchOptions options, const Clock* clock,
             Waker* waker);

  // --- without the lock ---
  OpenItem open_item(WorkItem& item, Done done, Delivery delivery,
                     const llm::Request& request) const;
  void read_ahead(OpenItem& open, llm::Request request) const;
  std::optional<ItemId> enter(std::unique_lock<std::mutex> lock, OpenItem open, WorkItem item,
                              Cost expected);
  template <class Event>
  void handle(Event event);
  void run(Effects effects);
  void apply(SendCall send);
  void apply(CompletedItem completed);
  void apply(StopCall stop);
  void apply(BudgetSpent);
  void apply(AtCallsMax);
  void end(CompletedItem& completed);
  void call_ended(const OpenCall& call, llm::Outcome outcome);
  void put_in_cache(const OpenCall& call, const std::vector<llm::Outcome>& outcomes);
  void cancel_calls(bool all);

  // --- with the lock ---
  TimePoint begin_event();
  Effects end_event(const Actions& actions);

  const std::vector<DispatchUpstream> upstreams_;
  const bool coalesce_;
  ResponseCache* const cache_;
  const std::string cache_scope_;
  const std::function<Cost(const llm::Request&, const llm::Usage&)> cost_of_;
  const std::function<void()> on_budget_spent_;
  const std::function<void()> on_calls_max_;
  const std::function<void(const SentBatch&)> on_batch_;
  const SystemClock own_clock_;
  std::unique_ptr<Waker> own_waker_;
  const Clock& clock_;
  Waker& waker_;

  static thread_local Running* running_;

  mutable std::mutex mutex_;  // of all below
  DispatchPolicy policy_;
  CapacityGate gate_;
  OpenItems items_;
  std::map<CallId, CallStops> calls_;  // those that are out
  uint64_t submitted_ = 0;
  int64_t cached_ = 0;
  bool reported_budget_spent_ = false;
  bool reported_calls_max_ = false;
};

}  // namespace windrow::dispatch
