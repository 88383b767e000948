// OpenItems: what a dispatcher holds of each item until it ends: the request, whom to tell, and
// what its calls have brought so far. The policy decides about items by their ids; this carries
// what they are.
//
// Invariant: equal items that share an answer hold one request and one SharedListener: the
// leader's.
//
// Used with the dispatcher's lock held. What it returns may be used without.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/hash.h"
#include "dispatch/dispatch_policy.h"
#include "dispatch/open_call.h"
#include "dispatch/shared_listener.h"
#include "dispatch/submitter.h"
#include "llm/answer.h"
#include "llm/backend.h"

namespace windrow::dispatch {

struct OpenItem {
  std::shared_ptr<const llm::Request> request;  // shared with calls, which read it without the lock
  std::shared_ptr<const llm::ReadAhead> read_ahead;
  llm::Priority priority = llm::Priority::kNormal;
  Delivery delivery;
  Submitter::Done done;
  std::optional<Hash128> cache_key;  // absent: it is not cached

  // With a listener: what calls it, for all that share the answer.
  std::shared_ptr<SharedListener> shared_listener;
  SharedListener::Member member = 0;

  // Of its calls so far.
  std::optional<llm::Outcome> outcome;  // of the last one
  std::string earlier_failure;          // of the one before it
  int64_t tokens = 0;
  Cost cost = 0;
};

// An item that has ended and whose Done is to be called.
struct CompletedItem {
  Submitter::Done done;
  DispatchResult result;
  std::shared_ptr<const llm::Outcome> shared_outcome = nullptr;  // in place of result.outcome
  std::shared_ptr<SharedListener> shared_listener = nullptr;
  SharedListener::Member member = 0;
  bool gets_rest = false;  // its listener gets what it has not had yet, before Done
};

// A call as it is given to a backend, but for its request, which OpenCall::pack makes.
struct PreparedCall {
  OpenCall call;
  llm::BackendCall to_backend;
};

class OpenItems {
 public:
  void add(ItemId id, OpenItem item);

  // Whether it waits for its model to be loaded. False for one that has ended.
  bool waits_for_load(ItemId id) const;

  // The call that sends these items.
  PreparedCall prepare(const Send& send, const CallStops& stops) const;

  // `follow.item` waits for the answer of its leader from now on.
  void follow(const Follow& follow);

  // The leader ends and `promoted.heir` has its call, with what that has cost so far.
  void promote(const PromoteFollower& promoted);

  // A call brought these outcomes and costs, in the order of the items.
  void record(std::span<const ItemId> items, std::vector<llm::Outcome> outcomes,
              std::span<const Cost> costs);

  // In the order of the items.
  std::vector<std::optional<Hash128>> cache_keys(std::span<const ItemId> items) const;

  // Outcomes that several of the items that end get, each as one object, however many they are.
  using SharedOutcomes = std::unordered_map<ItemId, std::shared_ptr<const llm::Outcome>>;
  SharedOutcomes shared_outcomes(const Actions& actions) const;

  // Removes an item that has ended.
  CompletedItem complete(const Ended& ended, const SharedOutcomes& shared);

 private:
  boost::unordered_flat_map<ItemId, OpenItem, std::hash<ItemId>> items_;
};

}  // namespace windrow::dispatch
