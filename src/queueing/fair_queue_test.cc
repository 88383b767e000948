#include "queueing/fair_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <vector>

#include "base/random.h"

namespace windrow::queueing {
namespace {

using Tenants = std::vector<uint64_t>;

Tenants order_of(const FairQueue& order) {
  Tenants tenants;
  order.visit([&](uint64_t tenant) {
    tenants.push_back(tenant);
    return false;
  });
  return tenants;
}

uint64_t first_of(const FairQueue& order) {
  return order_of(order).front();
}

void serve(FairQueue& order, uint64_t tenant, int64_t tokens, int32_t weight = 1) {
  order.settle(order.charge(tenant, weight, tokens), tokens);
}

TEST(FairQueue, TheLeastServedGoesFirstThenTheOneWhoseLastStartIsLongestAgo) {
  FairQueue order;
  for (const uint64_t tenant : Tenants{1, 2, 3})
    order.ready(tenant);
  serve(order, 1, 100);
  serve(order, 2, 50);
  EXPECT_EQ(order_of(order), (Tenants{3, 2, 1}));
  serve(order, 2, 50);
  serve(order, 3, 100);
  EXPECT_EQ(order_of(order), (Tenants{1, 2, 3}));
  order.unready(1);
  EXPECT_EQ(order_of(order), (Tenants{2, 3}));
}

TEST(FairQueue, RequestsInFlightCountAsExpectedUntilTheyAreSettled) {
  FairQueue order;
  order.ready(1);
  order.ready(2);
  const FairQueue::Charge one = order.charge(1, 1, 1000);
  const FairQueue::Charge two = order.charge(2, 1, 10);
  EXPECT_EQ(first_of(order), 2U);
  order.settle(one, 5);
  EXPECT_EQ(first_of(order), 1U);
  order.settle(two, 4);
  EXPECT_EQ(first_of(order), 2U);
}

TEST(FairQueue, ServiceIsDividedByTheWeight) {
  FairQueue order;
  order.ready(1);
  order.ready(2);
  serve(order, 1, 300, 3);
  serve(order, 2, 101);
  EXPECT_EQ(first_of(order), 1U);
  serve(order, 1, 6, 3);
  EXPECT_EQ(first_of(order), 2U);
}

TEST(FairQueue, IdleTimeEarnsNoCredit) {
  FairQueue order;
  order.ready(1);
  serve(order, 1, 50'000);
  order.ready(2);
  EXPECT_EQ(first_of(order), 2U) << "it had no turn yet";
  serve(order, 2, 100);
  EXPECT_EQ(first_of(order), 1U);
  // Also where no other tenant is ready when it returns.
  order.unready(2);
  serve(order, 1, 50'000);
  order.unready(1);
  order.ready(3);
  order.ready(1);
  serve(order, 3, 100);
  EXPECT_EQ(first_of(order), 1U);
}

TEST(FairQueue, LeavingForAMomentGainsNothing) {
  FairQueue order;
  order.ready(1);
  order.ready(2);
  serve(order, 1, 500);
  order.unready(1);
  order.ready(1);
  EXPECT_EQ(first_of(order), 2U);
  serve(order, 2, 499);
  EXPECT_EQ(first_of(order), 2U);
}

TEST(FairQueue, NoTenantIsOwedMoreThanTheLag) {
  FairQueue order({.lag_max = 800});
  order.ready(1);
  order.ready(2);
  for (int i = 0; i < 100; ++i)
    serve(order, 2, 100);  // the other could not go
  int64_t caught_up = 0;
  for (; first_of(order) == 1; caught_up += 10)
    serve(order, 1, 10);
  EXPECT_GE(caught_up, 700);
  EXPECT_LE(caught_up, 1010);
}

TEST(FairQueue, ExpectedCostIsBounded) {
  FairQueue order({.lag_max = 800});
  order.ready(1);
  order.ready(2);
  const FairQueue::Charge endless = order.charge(1, 1, INT64_C(1) << 40);
  serve(order, 2, 101);
  EXPECT_EQ(first_of(order), 1U);
  order.settle(endless, 3);
}

TEST(FairQueue, IdleTenantsAreForgotten) {
  FairQueue order;
  for (uint64_t tenant = 1; tenant <= 100; ++tenant) {
    order.ready(tenant);
    const FairQueue::Charge charge = order.charge(tenant, 1, 10);
    order.unready(tenant);
    order.settle(charge, 0);
  }
  EXPECT_EQ(order.known(), 0U);
}

// Of many that come once, each is forgotten when the others have caught up with it.
TEST(FairQueue, ThoseThatDoNotComeBackAreForgotten) {
  FairQueue order;
  order.ready(1);
  for (uint64_t tenant = 2; tenant <= 1000; ++tenant) {
    order.ready(tenant);
    const FairQueue::Charge charge = order.charge(tenant, 1, 10);
    order.unready(tenant);
    order.settle(charge, 50);
    serve(order, 1, 20);
  }
  EXPECT_LE(order.known(), 5U);
}

// A machine with slots, and tenants that always have another request whose cost is known when it
// has ended. In the end each tenant got its weight's share, and at no time is one further behind
// than the requests in flight explain.
TEST(FairQueue, SharesFollowWeights) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    FairQueue order;
    struct Share {
      int32_t weight = 1;
      int64_t cost_max = 1;
      double served = 0;
    };
    std::map<uint64_t, Share> tenants;
    const auto count = static_cast<uint64_t>(random.between(2, 6));
    double weights = 0;
    for (uint64_t tenant = 1; tenant <= count; ++tenant) {
      const auto weight = static_cast<int32_t>(random.between(1, 5));
      tenants[tenant] = {.weight = weight, .cost_max = random.between(1, 400)};
      weights += weight;
      order.ready(tenant);
    }
    const auto slots = static_cast<size_t>(random.between(1, 16));
    struct Out {
      FairQueue::Charge charge;
      uint64_t tenant;
    };
    std::deque<Out> out;
    double all = 0;
    for (int step = 0; step < 20'000; ++step) {
      if (out.size() < slots) {
        const uint64_t tenant = first_of(order);
        Share& share = tenants.at(tenant);
        // Expected wrongly, in either direction.
        out.push_back(
            {order.charge(tenant, share.weight, random.between(1, 2 * share.cost_max)), tenant});
        continue;
      }
      const auto chosen = out.begin() + static_cast<std::ptrdiff_t>(random.below(out.size()));
      Share& share = tenants.at(chosen->tenant);
      const int64_t cost = random.between(1, share.cost_max);
      order.settle(chosen->charge, cost);
      out.erase(chosen);
      share.served += static_cast<double>(cost);
      all += static_cast<double>(cost);
      double most = 0;
      double least = 1e18;
      for (const auto& [id, each] : tenants) {
        most = std::max(most, each.served / each.weight);
        least = std::min(least, each.served / each.weight);
      }
      ASSERT_LE(most - least, 800.0 * static_cast<double>(slots + 1));
    }
    for (const auto& [id, share] : tenants)
      EXPECT_NEAR(share.served / all, share.weight / weights, 0.02) << id;
  }
}

}  // namespace
}  // namespace windrow::queueing
