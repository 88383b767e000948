// FairQueue: whose turn it is among tenants (the keys of a server) whose requests are equally
// urgent: who was served least goes first. Service is what was computed, in tokens, over the
// tenant's weight. It is charged as expected when a request starts and settled when it is known, as
// in the Virtual Token Counter (Sheng et al., Fairness in Serving Large Language Models, OSDI
// 2024). Pure.
//
// Invariants:
//   of two tenants that always have something that could go, neither is ahead by more than what the
//     other may have out at a time and one request;
//   who comes, or comes back, begins at the least of those who are there: nobody saves up by asking
//     nothing, and nobody gains by leaving for a moment;
//   nobody is behind the first by more than `lag_max`. Who could not be served for another reason
//     (its server was full) is owed no more than that, so nobody waits longer for it;
//   of tenants that are level, the one goes first that started something the longest ago.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>

namespace windrow::dispatch {

struct FairOptions {
  int64_t lag_max = int64_t{256} << 10;  // tokens of a tenant of weight 1
};

class FairQueue {
 public:
  // What a start was charged; to be settled once.
  struct Charge {
    uint64_t tenant = 0;
    int32_t weight = 1;
    int64_t service = 0;
  };

  explicit FairQueue(FairOptions options = {}) : lag_max_(service_of(options.lag_max, 1)) {}

  // It has something that could go, and had nothing; it has nothing any more.
  void ready(uint64_t tenant);
  void unready(uint64_t tenant);

  // Something of its own starts that is likely to cost so many tokens. It need not be ready.
  Charge charge(uint64_t tenant, int32_t weight, int64_t tokens);

  // It has ended, and cost so many.
  void settle(const Charge& charge, int64_t tokens);

  size_t ready_count() const { return ranks_.size(); }

  // Whether something of `one` would go before what the other has, were both ready.
  bool is_before(uint64_t one, uint64_t other) const { return rank_of(one) < rank_of(other); }

  // Calls visit(tenant) for those that are ready, the one to go first before the others, until it
  // returns true. It may not change anything here.
  template <class Visit>
  void visit(const Visit& visit) const {
    for (const Rank& rank : ranks_) {
      if (visit(rank.tenant)) return;
    }
  }

  // Tenants that are remembered; for tests.
  size_t known() const { return tenants_.size(); }

 private:
  struct Tenant {
    int64_t settled = 0;
    int64_t expected = 0;    // of what it has out
    int64_t out = 0;         // how much that is
    uint64_t last_turn = 0;  // of its last start; 0: none
    bool ready = false;
  };

  // The least first.
  struct Rank {
    int64_t service = 0;  // settled and expected
    uint64_t last_turn = 0;
    uint64_t tenant = 0;

    auto operator<=>(const Rank&) const = default;
  };

  static int64_t service_of(int64_t tokens, int32_t weight);
  static Rank rank_of(uint64_t id, const Tenant& tenant);
  Rank rank_of(uint64_t id) const;  // also of one that is not ready

  Tenant& at(uint64_t id);
  int64_t least() const;
  int64_t begin_of(const Tenant& tenant) const;
  void enter(uint64_t id, Tenant& tenant);
  void leave(uint64_t id, Tenant& tenant);
  void raise_the_last();
  void forget_if_idle(uint64_t id);

  const int64_t lag_max_;
  boost::unordered_flat_map<uint64_t, Tenant> tenants_;
  std::set<Rank> ranks_;                            // of those that are ready
  std::set<std::pair<int64_t, uint64_t>> settled_;  // likewise: what is settled, and the tenant
  int64_t left_at_ = 0;  // what the last one had that stopped being ready
  int64_t most_ = 0;     // settled, of all that ever were
  int64_t floor_ = 0;    // nobody that is ready has less
  uint64_t turns_ = 0;
};

}  // namespace windrow::dispatch
