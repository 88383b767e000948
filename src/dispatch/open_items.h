// OpenItems: what a dispatcher holds of each item until it ends: the request, its listener, its
// Done and what its calls have brought so far. OpenCall is one call that is out for them. The
// policy decides about items and calls by their ids; these are what the ids stand for.
//
// Invariant: equal items that share an answer hold one request and one SharedListener: the
// leader's.
//
// OpenItems is used with the dispatcher's lock held; what it returns, OpenCall too, may be used
// without.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/hash.h"
#include "dispatch/dispatch_policy.h"
#include "dispatch/shared_listener.h"
#include "dispatch/submitter.h"
#include "dispatch/watched_sink.h"
#include "llm/answer.h"
#include "llm/backend.h"

namespace windrow::dispatch {

// What the policy needs to know of an outcome. Pure.
CallEnd call_end_of(const llm::Outcome& outcome);

// What an answer or a failure has used, as far as it is known.
const llm::Usage& usage_of(const llm::Outcome& outcome);

// The tokens of llm::BackendCall, from the side that stops them.
struct CallStops {
  std::stop_source withdrawn;
  std::stop_source unwanted;
};

// One call of a backend that is out, for one item or for several that are packed: what is sent, and
// what its items get of its outcome.
struct OpenCall {
  CallId id;
  std::vector<std::shared_ptr<const llm::Request>> requests;  // in the order of Send::items
  std::shared_ptr<SharedListener> listener;                   // null: the answer is not streamed
  std::shared_ptr<WatchedSink> reply_sink;  // null: the reply is not taken piece by piece
  std::vector<int64_t> sizes;               // PackedRequest::sizes, once it is packed

  // Whether part of the answer was delivered.
  bool has_begun() const {
    return (listener && listener->has_begun()) || (reply_sink && reply_sink->has_begun());
  }

  // The one request, or all of them as one; the latter sets `sizes`.
  std::shared_ptr<const llm::Request> pack();

  // What each item gets, in the order of `requests`. Where the parts of a packed answer could not
  // be told apart, `end` says so afterwards.
  std::vector<llm::Outcome> unpack(llm::Outcome outcome, CallEnd& end) const;
};

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

  // Takes the place of the delivery's.
  std::shared_ptr<WatchedSink> reply_sink;

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
  std::shared_ptr<WatchedSink> reply_sink = nullptr;  // is let go after Done
};

// A call as it is given to a backend, but for its request, which OpenCall::pack makes.
struct PreparedCall {
  OpenCall call;
  llm::BackendCall to_backend;
};

class OpenItems {
 public:
  void add(ItemId id, OpenItem item);  // a new id

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

  // Removes an item that has ended; `shared` is that of the same actions.
  CompletedItem complete(const Ended& ended, const SharedOutcomes& shared);

 private:
  boost::unordered_flat_map<ItemId, OpenItem, std::hash<ItemId>> items_;
};

}  // namespace windrow::dispatch
