// PendingRequests: the calls that a backend has accepted and cannot start yet: their model is being
// loaded, a context opened, a grammar compiled, a server asked. The backend adds a call, takes it
// out when its condition holds, and goes on with it; a call whose token is stopped before that ends
// by itself.
//
// Invariant: each call leaves once: it is taken out by the backend, or it ends with `cancelled`.
//
// Thread-safe. Tokens may be stopped on any thread, with this object's lock free, so a call can be
// cancelled at every moment: before it is watched, while it is taken out, from within the Done or
// the on_delta of another.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/id.h"
#include "llm/answer.h"
#include "llm/backend.h"

namespace windrow::llm {

// In the order of add().
using PendingId = Id<struct PendingTag>;

class PendingRequests {
  struct Watch;

 public:
  using Done = Backend::Done;

  // A call that was taken out; the taker ends it or passes it on.
  class Taken {
   public:
    Taken(BackendCall call, Done done, std::unique_ptr<Watch> watch);
    ~Taken();
    Taken(Taken&&) noexcept;
    Taken& operator=(Taken&&) noexcept;

    const BackendCall& call() const { return call_; }

    // Once, one of these two. They wait for a callback of its tokens that runs at this moment, so
    // call them, and the destructor, without a lock that Done or `on_cancel` takes.
    std::pair<BackendCall, Done> release() &&;
    void end(Outcome outcome) &&;

   private:
    BackendCall call_;
    Done done_;
    std::unique_ptr<Watch> watch_;  // of its tokens; null: not watched yet
  };

  // `cancelled`: how calls end whose tokens are stopped. `on_cancel`: for an owner that keeps count
  // of its calls: it is called in place of that, on the thread that stops a token, and takes the
  // call out and ends it, unless another thread took it.
  explicit PendingRequests(Failure cancelled, std::function<void(PendingId)> on_cancel = {});

  // Ends what is left with `cancelled`, and waits until every Done called here has returned.
  ~PendingRequests();
  PendingRequests(const PendingRequests&) = delete;
  PendingRequests& operator=(const PendingRequests&) = delete;

  // Keeps a call until it is taken out. From add on it can be taken; from watch on its tokens end
  // it. They are two, because a token that is stopped already ends the call inside watch: add may
  // be called with the owner's lock held, watch not.
  PendingId add(BackendCall call, Done done);
  void watch(PendingId id);

  // Nothing: it has left. May be called with the owner's lock held, as the three below.
  std::optional<Taken> take(PendingId id);

  // All, in the order of add.
  std::vector<Taken> take_all();

  // A call whose LoadWait::until (as it was when it was added) has passed, the earliest first.
  // Nothing: there is none.
  std::optional<Taken> take_late(TimePoint now);

  // When take_late will have one; absent: never.
  std::optional<TimePoint> next_late() const;

  size_t size() const;

 private:
  struct Pending {
    BackendCall call;
    Done done;
    std::optional<TimePoint> until;
    std::unique_ptr<Watch> watch;
  };
  using Calls = std::map<PendingId, Pending>;

  void stopped(PendingId id);
  Taken extract(Calls::iterator found);  // with the lock

  const Failure cancelled_;
  const std::function<void(PendingId)> on_cancel_;

  mutable std::mutex mutex_;
  std::condition_variable returned_;
  Calls calls_;
  std::set<std::pair<TimePoint, PendingId>> limits_;  // of calls that may not wait for ever
  uint64_t added_ = 0;
  int32_t callbacks_ = 0;  // that run at this moment
};

}  // namespace windrow::llm
