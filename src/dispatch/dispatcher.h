// Dispatcher: the policies around one Backend or several: how many requests are in flight, which
// goes where and when, and which failures are tried again. The workloads above submit here and
// never to a Backend. It drives a DispatchPolicy, which decides.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "dispatch/dispatch_policy.h"
#include "dispatch/response_cache.h"
#include "dispatch/shared_listener.h"
#include "dispatch/submitter.h"
#include "dispatch/waker.h"
#include "llm/backend.h"

namespace windrow::dispatch {

// A call of items that pack has been decided.
struct SentBatch {
  UpstreamId upstream;
  int32_t rows = 0;
  int64_t tokens = 0;  // about what it costs
  PackReason reason = PackReason::kRoom;
};

struct DispatchOptions {
  int32_t in_flight_max = 0;  // of each upstream; 0: what its backend says keeps it busy
  int32_t attempts_max = 3;   // of a request whose failures are transient

  // Requests that wait beyond the calls that are out, among which the next one is chosen; those of
  // many rows count for several (DispatchPolicy::backlog). Where calls take several, at least two
  // calls' worth wait.
  int32_t waiting_max = 0;

  Duration backoff_base{};                   // RetryOptions
  std::optional<Duration> refusal_patience;  // likewise
  std::vector<QuotaOptions> quotas = {{}};
  RequestQueueOptions queue;
  queueing::ReserveOptions reserve;
  RouterOptions router;
  PackerOptions packer = {.rows_max = 1};  // one request a call unless it is told otherwise
  bool coalesce = true;                    // WorkItem::same_answer

  // Of the one backend of Dispatcher(backend, options): UpstreamOptions::slots_by_rows.
  bool slots_by_rows = false;

  // Asked before anything is sent, for items with same_answer; not owned, outlives the dispatcher.
  // `cache_scope` is what beside the request decides about the answer: the names that models have
  // at the upstreams. Answers are kept apart by it.
  ResponseCache* cache = nullptr;
  std::string cache_scope;

  // DispatchPolicyOptions::calls_max; told once, and not under a lock, when requests wait because
  // of it.
  int32_t calls_max = 0;
  std::function<void()> on_calls_max;

  Cost cost_max = 0;
  std::function<Cost(const llm::Request&, const llm::Usage&)> cost_of;  // empty: all is free

  // Called when nothing more is sent because of cost_max, once and not under a lock; on the threads
  // of Done. What to do is the caller's: stop_admitting and cancel_waiting end the rest.
  std::function<void()> on_budget_spent;

  // Likewise, for each batch.
  std::function<void(const SentBatch&)> on_batch;

  uint64_t seed = 1;
};

// One that answers. The backend outlives the dispatcher.
struct DispatchUpstream {
  llm::Backend* backend = nullptr;

  // Measured while it runs; without it, DispatchOptions::in_flight_max counts.
  std::optional<ConcurrencyOptions> concurrency;
  size_t quota = 0;
  int32_t pack_rows_max = INT32_MAX;  // 1: it takes one input a call
  bool slots_by_rows = false;         // UpstreamOptions
};

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

// Thread-safe. The destructor waits until every request in flight has ended; cancel first if that
// should not take long.
class Dispatcher final : public Submitter {
 public:
  // Done is called on a thread of a backend's or of the waker's, or on one that submits or cancels.

  // `backend` must outlive the dispatcher.
  Dispatcher(llm::Backend& backend, DispatchOptions options);

  // `clock` and `waker` too; the waker belongs to this dispatcher alone.
  Dispatcher(std::vector<DispatchUpstream> upstreams, DispatchOptions options, const Clock& clock,
             Waker& waker);

  ~Dispatcher() override;
  Dispatcher(const Dispatcher&) = delete;
  Dispatcher& operator=(const Dispatcher&) = delete;

  [[nodiscard]] bool submit(llm::Request request, Done done) {
    return submit(std::move(request), WorkItem{}, 0, std::move(done));
  }
  [[nodiscard]] bool submit(llm::Request request, WorkItem item, Cost expected,
                            Done done) override {
    return accept(std::move(request), item, expected, std::move(done), {}, Patience{}).has_value();
  }

  // The same, and nothing once `left` is asked to stop, also for those who were waiting. What it
  // returns names the request for cancel(); it may have ended already.
  [[nodiscard]] std::optional<ItemId> submit(llm::Request request, WorkItem item, Cost expected,
                                             Done done, std::stop_token left,
                                             Delivery delivery = {}) {
    return accept(std::move(request), item, expected, std::move(done), std::move(delivery),
                  Patience{std::move(left)});
  }

  // As submit, for those who cannot wait: nothing, and nothing happens to the request, when as many
  // wait as DispatchOptions::waiting_max allows or admission has stopped. Those count that are as
  // urgent or more, so that what waits for the night keeps nobody out; and an equal one of what is
  // asked already (WorkItem::same_answer) takes no place. What it returns names the
  // request for cancel(); it may have ended already. Any thread, never blocks.
  //
  // Of a request with a listener the pieces come before its Done; it is not tried again once there
  // was one. Equal requests that are heard share one answer, too; who comes later hears it from the
  // beginning. on_delta may call cancel, not submit or offer.
  [[nodiscard]] std::optional<ItemId> offer(llm::Request request, WorkItem item, Cost expected,
                                            Done done, Delivery delivery = {}) {
    return accept(std::move(request), item, expected, std::move(done), std::move(delivery),
                  std::nullopt);
  }

  // Nobody waits for this one any more: it ends with kCancelled, soon, wherever it is; what is out
  // by then may end with what it would have ended with. Others that share its answer
  // (WorkItem::same_answer) still get it; the backend learns by BackendCall::unwanted when the last
  // one has left. Nothing happens when it has ended. Any thread, also from within a Done or
  // on_delta.
  void cancel(ItemId item);

  // The same, unless it is out and not just waiting for its model to be loaded.
  void cancel_unless_out(ItemId item);

  // llm::Backend::count_prompt, at once: nothing is sent and nothing waits.
  std::variant<int64_t, llm::Failure> count_prompt(const llm::Request& request) const;

  // Nobody is answering it at this moment: it waits to be sent, for the first time or again. What
  // has ended waits for nothing. Any thread.
  bool is_waiting(ItemId item) const;

  // What waits for an upstream to have room.
  QueueReading queue() const;

  // In no particular order.
  std::vector<TenantReading> tenants() const;

  void stop_admitting() override;

  // End what waits here, and ask the backends, by the tokens of the calls that are out, to end
  // those that have not started, or all. Nothing is tried again after either: a failure that would
  // have been ends as kCancelled too.
  void cancel_waiting() override;
  void cancel_all() override;

  // Blocks until nothing is in flight.
  void wait_idle();

  // Accepted and not ended.
  int32_t in_flight() const;
  // Threads that are in submit and wait for room.
  int32_t submitters_waiting() const;
  // So many may be. What a backend says may change: it may open more of itself when it is asked to.
  int32_t in_flight_max() const;

  // In the order they were given.
  std::vector<UpstreamReading> readings() const;
  DispatchCounts counts() const;
  bool budget_is_spent() const;

 private:
  struct Entry {
    // Calls share it and read it without the lock.
    std::shared_ptr<const llm::Request> request;
    std::shared_ptr<const llm::ReadAhead> read_ahead;
    llm::Priority priority = llm::Priority::kNormal;
    Delivery delivery;
    Done done;
    std::optional<Hash128> cached_as;
    std::optional<llm::Outcome> outcome;  // of the last call
    int64_t tokens = 0;
    Cost cost = 0;
    std::string earlier_failure;

    // Of a request with a listener: what calls it, for those who share the answer.
    std::shared_ptr<SharedListener> heard;
    SharedListener::Member member = 0;
  };

  // By these the backend is asked to end a call: where it has not started, or wherever it is.
  struct CallStops {
    std::stop_source withdrawn;
    std::stop_source unwanted;
  };

  // What a call is to those who wait for it.
  struct OpenCall {
    CallId id;
    std::vector<std::shared_ptr<const llm::Request>> requests;
    std::shared_ptr<SharedListener> heard;
    std::vector<int64_t> sizes;  // PackedRequest::sizes
  };

  // What is to be done when the lock is not held.
  struct SendCall {
    OpenCall call;
    UpstreamId upstream;
    int64_t tokens = 0;
    PackReason reason = PackReason::kAlone;
    llm::BackendCall to_backend;  // of one request: whole; of several: without the request
  };
  struct CompleteItem {
    Done done;
    DispatchResult result;
    std::shared_ptr<const llm::Outcome> shared = {};  // then the result's is this
    std::shared_ptr<SharedListener> heard = {};
    SharedListener::Member member = 0;
    bool hears_all = false;  // what was said of its answer, before it ends
  };
  struct StopCall {
    std::stop_source stops;
  };
  struct BudgetSpent {};
  struct AtCallsMax {};
  using SharedOutcomes = std::unordered_map<ItemId, std::shared_ptr<const llm::Outcome>>;
  using Effect = std::variant<SendCall, CompleteItem, StopCall, BudgetSpent, AtCallsMax>;
  using Effects = std::vector<Effect>;
  struct Running;

  Dispatcher(std::vector<DispatchUpstream> upstreams, DispatchOptions options, const Clock* clock,
             Waker* waker);

  // Of those who wait for room.
  struct Patience {
    std::stop_token left = {};
  };

  std::optional<ItemId> accept(llm::Request request, WorkItem item, Cost expected, Done done,
                               Delivery delivery, std::optional<Patience> patience);

  // --- with the lock ---
  int32_t free_slots() const;
  bool has_room_for(const WorkItem& item) const;
  int32_t room() const;
  bool is_idle() const { return in_flight_ == 0 && submitting_ == 0; }
  void notify_waiters();
  void tell_limits();
  TimePoint begin_event();
  Effects end_event(const Actions& actions);
  Effects deeds_of(const Actions& actions);
  SharedOutcomes shared_outcomes(const Actions& actions);
  SendCall hand(const Send& send);
  CompleteItem finish(const Ended& ended, const SharedOutcomes& shared);
  void follow(const Follow& follow);
  void inherit(const PromoteFollower& inherit);

  // --- without ---
  bool is_open_to(const WorkItem& item) const;
  void run(Effects deeds);
  void apply(SendCall hand);
  void apply(CompleteItem finish);
  void apply(StopCall stop);
  void apply(BudgetSpent);
  void apply(AtCallsMax);
  void end(CompleteItem& finish);
  void call_ended(const OpenCall& call, llm::Outcome outcome);
  void keep(const OpenCall& call, const std::vector<llm::Outcome>& outcomes);
  void wake();
  void cancel_calls(bool all);

  const std::vector<DispatchUpstream> upstreams_;
  const int32_t in_flight_max_;
  const int32_t waiting_max_;
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

  mutable std::mutex mutex_;
  std::condition_variable room_grew_;
  std::condition_variable became_idle_;
  int32_t submitters_waiting_ = 0;
  DispatchPolicy policy_;
  boost::unordered_flat_map<ItemId, Entry, std::hash<ItemId>> entries_;
  std::map<CallId, CallStops> calls_;  // those that are out
  uint64_t submitted_ = 0;
  int64_t cached_ = 0;
  int32_t in_flight_ = 0;
  bool told_of_budget_ = false;
  bool told_of_calls_max_ = false;
  int32_t submitting_ = 0;  // threads in Backend::submit: the backend may go when they have left
  bool admitting_ = true;
};

}  // namespace windrow::dispatch
