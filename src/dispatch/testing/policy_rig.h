// PolicyRig: a DispatchPolicy whose calls a test ends.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <deque>
#include <map>
#include <utility>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "dispatch/dispatch_policy.h"

namespace windrow::dispatch::testing {

constexpr TimePoint kStart{std::chrono::seconds(1000)};

inline DispatchPolicyOptions fixed(std::vector<int32_t> limits) {
  DispatchPolicyOptions options;
  for (const int32_t limit : limits)
    options.upstreams.push_back({.concurrency = {.fixed = limit}});
  return options;
}

// Carries out what the policy decides: keeps calls until the test ends them.
class PolicyRig {
 public:
  explicit PolicyRig(DispatchPolicyOptions options) : policy(std::move(options)) {}

  void submit(uint64_t id, WorkItem item = {}) {
    item.id = ItemId(id);
    run([&](Actions& actions) { policy.submit(now, item, item.tokens, actions); });
  }

  // Ends the call that was sent first.
  void end_next(const CallEnd& end) {
    ASSERT_FALSE(out.empty());
    const Send call = out.front();
    out.pop_front();
    run([&](Actions& actions) { policy.ended(now, call.call, end, actions); });
  }
  void answer_next() { end_next({.tokens = 1}); }
  void fail_next(Fault fault) { end_next({.fault = fault}); }

  void advance(Duration by) {
    now += by;
    run([&](Actions& actions) { policy.wake(now, actions); });
  }

  void cancel_waiting() {
    run([&](Actions& actions) { policy.cancel_waiting(actions); });
  }
  void cancel(uint64_t id) {
    run([&](Actions& actions) { policy.cancel(now, ItemId(id), actions); });
  }

  std::vector<uint64_t> ids_out() const {
    std::vector<uint64_t> ids;
    for (const Send& send : out) {
      for (const ItemId id : send.items)
        ids.push_back(id.value());
    }
    return ids;
  }

  ItemEnd how(uint64_t id) const { return ends.at(id).how; }

  DispatchPolicy policy;
  TimePoint now = kStart;
  std::deque<Send> out;  // in flight
  std::map<uint64_t, Ended> ends;
  std::vector<CallId> stopped;

 private:
  template <class Event>
  void run(Event event) {
    Actions actions;
    event(actions);
    for (const Action& action : actions) {
      if (const auto* send = std::get_if<Send>(&action)) {
        out.push_back(*send);
      } else if (const auto* ended = std::get_if<Ended>(&action)) {
        const bool fresh = ends.emplace(ended->item.value(), *ended).second;
        ASSERT_TRUE(fresh) << "item " << ended->item.value() << " ended twice";
        // The outcome that it shares is there already.
        ASSERT_TRUE(ends.contains(ended->outcome_of.value()));
      } else if (const auto* stop = std::get_if<Stop>(&action)) {
        stopped.push_back(stop->call);
      }
    }
  }
};

}  // namespace windrow::dispatch::testing
