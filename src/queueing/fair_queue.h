// FairQueue: which tenant goes next among tenants of one priority: the one that was served least.
// Service is what was computed, in tokens, over the tenant's weight. A start is charged what it is
// expected to cost, and settled when the cost is known, as in the Virtual Token Counter (Sheng et
// al., Fairness in Serving Large Language Models, OSDI 2024). Pure; used by one thread at a time.
//
// Invariants:
//   of two tenants that are always ready, neither is ahead by more service than the other may have
//     in flight plus one request;
//   a tenant that becomes ready starts at the least service of those that are: idle time earns no
//     credit, and a tenant gains nothing by leaving for a moment;
//   no ready tenant is behind the first by more than `lag_max`: a tenant that could not be served
//     for another reason (its server was full) is owed no more, and delays others no longer;
//   of tenants with equal service, the one whose last start is longest ago goes first.
//
// Each call takes logarithmic time in the number of ready tenants.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>

namespace windrow::queueing {

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

  // The tenant has a request that could start, and had none; it has none any more.
  void ready(uint64_t tenant);
  void unready(uint64_t tenant);

  // A request of the tenant starts that is expected to cost so many tokens. The tenant need not be
  // ready.
  Charge charge(uint64_t tenant, int32_t weight, int64_t tokens);

  // The request has ended and cost so many tokens.
  void settle(const Charge& charge, int64_t tokens);

  size_t ready_count() const { return ranks_.size(); }

  // Whether `one` would go before `other`, were both ready.
  bool is_before(uint64_t one, uint64_t other) const { return rank_of(one) < rank_of(other); }

  // Calls visit(tenant) for the ready tenants in their order, until it returns true. It must not
  // change the queue.
  template <class Visit>
  void visit(const Visit& visit) const {
    for (const Rank& rank : ranks_) {
      if (visit(rank.tenant)) return;
    }
  }

  // Whether no tenant is ready or has a request in flight.
  bool is_idle() const { return idle_.size() == tenants_.size(); }

  // Tenants that are remembered; for tests.
  size_t known() const { return tenants_.size(); }

 private:
  struct Tenant {
    int64_t settled = 0;
    int64_t expected = 0;     // of its requests in flight
    int64_t in_flight = 0;    // requests that are charged and not settled
    uint64_t last_start = 0;  // counted over all tenants; 0: none
    bool ready = false;

    bool is_idle() const { return !ready && in_flight == 0; }
  };

  // The least goes first.
  struct Rank {
    int64_t service = 0;  // settled and expected
    uint64_t last_start = 0;
    uint64_t tenant = 0;

    auto operator<=>(const Rank&) const = default;
  };

  static int64_t service_of(int64_t tokens, int32_t weight);
  static Rank rank_of(uint64_t id, const Tenant& tenant);
  Rank rank_of(uint64_t id) const;

  Tenant& at(uint64_t id);
  int64_t least_service() const;
  int64_t service_when_ready(const Tenant& tenant) const;
  void insert(uint64_t id, Tenant& tenant);
  void remove(uint64_t id, Tenant& tenant);
  void raise_lagging();
  void note_idle(uint64_t id, const Tenant& tenant);
  void forget_idle();

  const int64_t lag_max_;
  boost::unordered_flat_map<uint64_t, Tenant> tenants_;
  std::set<Rank> ranks_;                            // of ready tenants
  std::set<std::pair<int64_t, uint64_t>> settled_;  // settled service and id of ready tenants
  std::set<std::pair<int64_t, uint64_t>> idle_;     // the same of tenants that are idle
  int64_t last_left_ = 0;  // settled service of the tenant that last stopped being ready
  int64_t most_ = 0;       // settled service, the most of any tenant so far
  int64_t floor_ = 0;      // no ready tenant has less
  uint64_t starts_ = 0;
};

}  // namespace windrow::queueing
