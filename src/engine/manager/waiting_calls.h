// WaitingCalls: the calls that wait until their model is loaded, and the thread that hands them
// over when they no longer wait: an admitted call to its model, a refused one to its Done. So
// neither a model nor a client delays the thread that decided it.
//
// The same thread tells the owner when time has passed.
//
// Invariant: a call leaves once: it is admitted, refused, or taken out by the owner.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "engine/manager/model_cache_policy.h"
#include "llm/backend.h"
#include "llm/pending_requests.h"

namespace windrow::engine {

// Thread-safe. The functions down to wake_by may be called with the owner's lock held, the others
// not: they call, or wait for, functions of the owner or a Done.
class WaitingCalls {
 public:
  using Done = llm::Backend::Done;
  using Taken = llm::PendingRequests::Taken;

  // Called without a lock.
  struct Owner {
    // A token of the call was stopped, on this thread: the owner takes it out and ends it.
    std::function<void(ModelId, llm::PendingId)> cancelled;

    // On the thread of this object: an admitted call goes to its model; time has passed. The second
    // calls tick_at.
    std::function<void(ModelId, llm::BackendCall, Done)> admit;
    std::function<void()> tick;
  };

  struct Late {
    ModelId model;
    Taken call;
  };

  // `clock` outlives it. No function of the owner is called before another function here was.
  WaitingCalls(size_t models, Owner owner, const Clock& clock);

  // As stop().
  ~WaitingCalls();
  WaitingCalls(const WaitingCalls&) = delete;
  WaitingCalls& operator=(const WaitingCalls&) = delete;

  // From here on LoadWait::waits is true, until the call leaves. Then watch().
  llm::PendingId add(ModelId model, llm::BackendCall call, Done done);

  // Nothing: it has left. Then end().
  std::optional<Taken> take(ModelId model, llm::PendingId call);

  // A call that has waited as long as it may (LoadWait::until). Nothing: there is none. Then
  // refuse() or end().
  std::optional<Late> take_late(TimePoint now);
  std::optional<TimePoint> next_late() const;

  std::vector<Taken> take_all();

  void admit_all(ModelId model);
  void refuse_all(ModelId model, const llm::Failure& failure);
  void refuse(Late call, llm::Failure failure);

  int32_t size(ModelId model) const;

  // The next tick is at this time at the latest; at once. From within a tick, tick_at sets the next
  // one whatever was asked for before; absent: there is none until wake_by is called.
  void wake_by(TimePoint at);
  void wake_now();
  void tick_at(std::optional<TimePoint> at);

  // From here on the call's tokens end it; perhaps within this call.
  void watch(ModelId model, llm::PendingId call);

  static void end(Taken call, llm::Failure failure);

  // Hands over what was admitted and refused, and ends the thread. Nothing is added any more.
  void stop();

 private:
  // A call that was admitted; with a failure, refused.
  struct Released {
    ModelId model;
    Taken call;
    std::optional<llm::Failure> failure;
  };

  llm::PendingRequests& pending(ModelId model) { return *pending_.at(model.value()); }
  void release_all(ModelId model, const std::optional<llm::Failure>& failure);
  void run();
  void await(std::unique_lock<std::mutex>& lock);
  void hand_over(Released released);

  const Owner owner_;
  const Clock& clock_;
  std::vector<std::unique_ptr<llm::PendingRequests>> pending_;  // by model

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Released> released_;
  std::optional<TimePoint> wake_at_;
  bool wake_now_ = false;
  bool stopping_ = false;

  // Last: it uses all of the above.
  std::jthread thread_;
};

}  // namespace windrow::engine
