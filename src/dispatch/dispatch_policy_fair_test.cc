// Tenants that want the same: whose turn it is, and what it leaves as it was.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <vector>

#include "base/random.h"
#include "dispatch/testing/policy_rig.h"

namespace windrow::dispatch {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::fixed;
using Rig = testing::PolicyRig;
using Ids = std::vector<uint64_t>;

constexpr uint64_t kFlood = 1;
constexpr uint64_t kOther = 2;

// One floods, the other sends one at a time: it has the very next place, each time.
TEST(DispatchPolicyFair, ATenantThatSendsOneAtATimeWaitsForOnePlace) {
  Rig rig(fixed({8}));
  uint64_t id = 0;
  while (id < 10'000)
    rig.submit(++id, {.tokens = 100, .tenant = kFlood});
  for (int turn = 0; turn < 300; ++turn) {
    rig.submit(++id, {.tokens = 100, .tenant = kOther});
    rig.end_next({.tokens = 100, .computed = 100});
    ASSERT_EQ(rig.ids_out().back(), id) << turn;
    while (!rig.ends.contains(id))
      rig.end_next({.tokens = 100, .computed = 100});
  }
}

TEST(DispatchPolicyFair, OfOneTenantTheOrderIsThatOfArrival) {
  Rig rig(fixed({1}));
  for (uint64_t id = 1; id <= 4; ++id)
    rig.submit(id, {.tokens = 10, .tenant = kFlood});
  rig.submit(5, {.tokens = 10, .tenant = kOther});
  rig.submit(6, {.tokens = 10, .tenant = kOther});
  Ids order;
  while (!rig.out.empty()) {
    order.push_back(rig.ids_out().front());
    rig.end_next({.tokens = 10, .computed = 10});
  }
  EXPECT_EQ(order, (Ids{1, 5, 2, 6, 3, 4}));
}

// What was cached was not computed for it.
TEST(DispatchPolicyFair, OnlyWhatWasComputedCounts) {
  Rig rig(fixed({1}));
  for (uint64_t id = 1; id <= 20; ++id)
    rig.submit(id, {.tokens = 100, .tenant = id <= 10 ? kFlood : kOther});
  std::map<bool, int> starts;
  for (int i = 0; i < 12; ++i) {
    const bool is_flood = rig.ids_out().front() <= 10;
    ++starts[is_flood];
    rig.end_next({.tokens = 100, .computed = is_flood ? 20 : 100});
  }
  EXPECT_EQ(starts[true], 10);
  EXPECT_EQ(starts[false], 2);
}

TEST(DispatchPolicyFair, PriorityGoesBeforeShares) {
  Rig rig(fixed({1}));
  rig.submit(1, {.tenant = kFlood});
  for (uint64_t id = 2; id <= 6; ++id)
    rig.submit(id, {.tokens = 1000, .tenant = kFlood, .priority = Priority::kInteractive});
  rig.submit(7, {.tenant = kOther, .priority = Priority::kNormal});
  for (uint64_t id = 2; id <= 7; ++id) {
    rig.end_next({.tokens = 1000, .computed = 1000});
    ASSERT_EQ(rig.ids_out(), (Ids{id}));
  }
}

// Interactive requests of a tenant do not count against its batch rows.
TEST(DispatchPolicyFair, EachPriorityCountsForItself) {
  Rig rig(fixed({1}));
  rig.submit(1, {.tokens = 100'000, .tenant = kFlood, .priority = Priority::kInteractive});
  rig.end_next({.tokens = 100'000, .computed = 100'000});
  rig.submit(2, {.tenant = kFlood});
  rig.submit(3, {.tokens = 10, .tenant = kOther});
  rig.submit(4, {.tokens = 10, .tenant = kFlood});
  rig.submit(5, {.tokens = 10, .tenant = kOther});
  rig.end_next({.tokens = 1, .computed = 1});
  EXPECT_EQ(rig.ids_out(), (Ids{3}));
  rig.end_next({.tokens = 10, .computed = 10});
  EXPECT_EQ(rig.ids_out(), (Ids{4}));
}

TEST(DispatchPolicyFair, ADeadlineOvertakesOnlyItsTenants) {
  Rig rig(fixed({1}));
  rig.submit(1, {.tokens = 10, .tenant = kFlood});
  rig.submit(2, {.tokens = 10, .tenant = kFlood});
  rig.submit(3, {.tokens = 10, .tenant = kFlood, .deadline = rig.now + seconds(60)});
  rig.submit(4, {.tokens = 10, .tenant = kOther});
  Ids order;
  while (!rig.out.empty()) {
    order.push_back(rig.ids_out().front());
    rig.end_next({.tokens = 10, .computed = 10});
  }
  EXPECT_EQ(order, (Ids{1, 4, 3, 2}));
}

// Tenants take turns also among items that the upstream refused for load.
TEST(DispatchPolicyFair, RefusedOnesTakeTurnsToo) {
  DispatchPolicyOptions options = fixed({4});
  options.retry.backoff_base = milliseconds(1);
  options.retry.refusal_patience = std::chrono::hours(1);
  Rig rig(options);
  for (uint64_t id = 1; id <= 4; ++id)
    rig.submit(id, {.tokens = 10, .tenant = id <= 3 ? kFlood : kOther});
  for (int i = 0; i < 4; ++i)
    rig.end_next({.fault = Fault::kOverloaded, .retry_after = seconds(1)});
  for (uint64_t id = 11; id <= 14; ++id)
    rig.submit(id, {.tokens = 10, .tenant = kFlood});
  rig.advance(seconds(10));
  rig.answer_next();
  EXPECT_EQ(rig.ids_out(), (Ids{12, 13, 14, 4}));
}

// A follower lends its leader its turn: a question that one tenant queued far behind is sent when
// the turn of another comes that asks the same, and is charged to that other tenant.
TEST(DispatchPolicyFair, AnEqualQuestionIsAskedAtTheFirstTurnOfItsTenants) {
  Rig rig(fixed({1}));
  for (uint64_t id = 1; id <= 100; ++id)
    rig.submit(id, {.tokens = 10, .tenant = kFlood, .same_answer = Hash128{id, 0}});
  rig.submit(200, {.tokens = 10, .tenant = kOther, .same_answer = Hash128{90, 0}});
  rig.submit(201, {.tokens = 10, .tenant = kOther, .same_answer = Hash128{91, 0}});
  EXPECT_EQ(rig.policy.tenants().size(), 2U);
  rig.end_next({.tokens = 10, .computed = 10});
  EXPECT_EQ(rig.ids_out(), (Ids{90}));
  rig.end_next({.tokens = 10, .computed = 10});
  EXPECT_EQ(rig.how(200), ItemEnd::kAnswered);
  EXPECT_EQ(rig.ids_out(), (Ids{2}));
  rig.end_next({.tokens = 10, .computed = 10});
  EXPECT_EQ(rig.ids_out(), (Ids{91}));
  while (!rig.out.empty())
    rig.end_next({.tokens = 10, .computed = 10});
  EXPECT_EQ(rig.ends.size(), 102U);
  EXPECT_TRUE(rig.policy.tenants().empty());
}

// An item for a server that is full does not hold up a later one that goes to another server.
TEST(DispatchPolicyFair, AnItemThatCannotGoHoldsUpNoOther) {
  Rig rig(fixed({1, 1}));
  for (uint64_t id = 1; id <= 200; ++id)
    rig.submit(id, {.tokens = 10, .tenant = 1 + id % 5, .upstreams = 1});
  rig.submit(1000, {.tokens = 10, .tenant = 9, .upstreams = 2});
  EXPECT_EQ(rig.out.size(), 2U);
  EXPECT_EQ(rig.ids_out().back(), 1000U);
}

// In the long run tokens are shared by weight, whatever the length of requests: each tenant keeps a
// few waiting. The expectation is arithmetic on weights; nothing of the policy is in it.
TEST(DispatchPolicyFair, TokensAreSharedByWeight) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const auto limit = static_cast<int32_t>(random.between(1, 12));
    Rig rig(fixed({limit}));
    struct Tenant {
      int32_t weight;
      int64_t cost_max;
      double served = 0;
      int waiting = 0;
    };
    std::map<uint64_t, Tenant> tenants;
    double weights = 0;
    for (uint64_t tenant = 1; tenant <= 4; ++tenant) {
      tenants[tenant] = {static_cast<int32_t>(random.between(1, 4)), random.between(2, 500)};
      weights += tenants[tenant].weight;
    }
    std::map<uint64_t, uint64_t> tenant_of;
    uint64_t id = 0;
    double all = 0;
    for (int step = 0; step < 8000; ++step) {
      for (auto& [number, tenant] : tenants) {
        for (; tenant.waiting < 16; ++tenant.waiting) {
          tenant_of[++id] = number;
          rig.submit(id, {.tokens = random.between(1, 600),
                          .tenant = number,
                          .weight = tenant.weight,
                          .priority = Priority::kNormal});
        }
      }
      const auto chosen = static_cast<std::ptrdiff_t>(random.below(rig.out.size()));
      std::ranges::rotate(rig.out, rig.out.begin() + chosen);
      Tenant& tenant = tenants[tenant_of[rig.ids_out().front()]];
      const int64_t cost = random.between(1, tenant.cost_max);
      rig.end_next({.tokens = cost, .computed = cost});
      tenant.served += static_cast<double>(cost);
      --tenant.waiting;
      all += static_cast<double>(cost);
    }
    for (const auto& [number, tenant] : tenants)
      EXPECT_NEAR(tenant.served / all, tenant.weight / weights, 0.03) << number;
  }
}

// Tenants come and go, some with thousands, of all priorities, in lanes or not; calls fail and
// requests are cancelled. Between two starts of a tenant with something ready there are few of the
// same priority by others, for the least weight, too; where the first to come is the first to go
// there are 130 to 380 of them. Lanes stay in order.
TEST(DispatchPolicyFair, NoTenantStarves) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const auto limit = static_cast<int32_t>(random.between(1, 8));
    DispatchPolicyOptions options = fixed({limit});
    options.retry.backoff_base = {};
    options.router.failures_max = 0;
    Rig rig(options);
    struct Item {
      uint64_t tenant = 0;
      uint64_t lane = 0;
      Priority priority = Priority::kNormal;
    };
    constexpr uint64_t kTenants = 5;
    constexpr int64_t kTokensMax = 64;
    constexpr int kPassedOverMax = 80;
    std::map<uint64_t, Item> items;
    std::map<uint64_t, std::deque<uint64_t>> lanes;
    // Of a tenant and priority: what waits in no lane, and starts of its priority since its last
    // one.
    std::map<std::pair<Priority, uint64_t>, std::set<uint64_t>> waiting;
    std::map<std::pair<Priority, uint64_t>, int> passed_over;
    std::set<uint64_t> seen;  // that were sent
    uint64_t id = 0;
    const auto note_starts = [&] {
      for (const uint64_t out : rig.ids_out()) {
        if (!seen.insert(out).second) continue;
        const Item& item = items[out];
        if (item.lane != 0) {
          std::deque<uint64_t>& lane = lanes[item.lane];
          while (!lane.empty() && rig.ends.contains(lane.front()))
            lane.pop_front();
          ASSERT_EQ(lane.front(), out);
        }
        waiting[{item.priority, item.tenant}].erase(out);
        for (auto& [key, ids] : waiting) {
          if (key.first != item.priority) continue;
          int& passed = passed_over[key];
          passed = key.second == item.tenant || ids.empty() ? 0 : passed + 1;
          ASSERT_LE(passed, kPassedOverMax);
        }
      }
    };
    for (int step = 0; step < 4000; ++step) {
      const double draw = random.unit();
      if (draw < 0.45 && rig.policy.unfinished() < 400) {
        Item item{.tenant = 1 + random.below(kTenants),
                  .priority = static_cast<Priority>(random.below(3))};
        if (random.chance(0.2)) item.lane = 10 * item.tenant + random.below(2);
        const auto burst = random.chance(0.02) ? random.between(50, 200) : 1;
        for (int64_t i = 0; i < burst; ++i) {
          items[++id] = item;
          if (item.lane != 0) {
            lanes[item.lane].push_back(id);
          } else {
            waiting[{item.priority, item.tenant}].insert(id);
          }
          rig.submit(id, {.tokens = random.between(1, kTokensMax),
                          .lane = item.lane,
                          .tenant = item.tenant,
                          .weight = static_cast<int32_t>(item.tenant),
                          .priority = item.priority});
          note_starts();
        }
      } else if (draw < 0.5 && id > 0) {
        const uint64_t gone = 1 + random.below(id);
        rig.cancel(gone);
        if (rig.ends.contains(gone))
          waiting[{items[gone].priority, items[gone].tenant}].erase(gone);
      } else if (!rig.out.empty()) {
        std::ranges::rotate(
            rig.out, rig.out.begin() + static_cast<std::ptrdiff_t>(random.below(rig.out.size())));
        const int64_t cost = random.between(1, kTokensMax);
        if (random.chance(0.1)) {
          const uint64_t again = rig.ids_out().front();
          seen.erase(again);
          rig.fail_next(Fault::kTransient);
        } else {
          rig.end_next({.tokens = cost, .computed = cost});
        }
      }
      note_starts();
    }
    while (!rig.out.empty()) {
      rig.answer_next();
      note_starts();
    }
    EXPECT_EQ(rig.policy.unfinished(), 0U);
    EXPECT_EQ(rig.ends.size(), id);
  }
}

}  // namespace
}  // namespace windrow::dispatch
