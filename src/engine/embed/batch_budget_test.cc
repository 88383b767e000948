#include "engine/embed/batch_budget.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

namespace windrow::engine {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

// A machine: what a pass costs at the start, per token, and per pair of tokens.
struct Machine {
  double pass_us = 0;
  double token_us = 0;
  double pair_us = 0;

  Duration time(int32_t tokens) const {
    const double n = tokens;
    return microseconds(std::llround(pass_us + token_us * n + pair_us * n * n));
  }

  double rate(int32_t tokens) const { return tokens / seconds(time(tokens)); }

  double best_rate(int32_t tokens_max) const {
    double best = 0;
    for (int32_t n = 1; n <= tokens_max; ++n)
      best = std::max(best, rate(n));
    return best;
  }
};

struct Ran {
  int passes = 0;
  Duration time{};
};

Ran run(BudgetSearch& search, const std::function<Duration(int32_t)>& time_of) {
  Ran ran;
  while (const std::optional<int32_t> tokens = search.next()) {
    const Duration time = time_of(*tokens);
    search.took(time);
    ++ran.passes;
    ran.time += time;
    if (ran.passes > 100) {
      ADD_FAILURE() << "the search does not end";
      return ran;
    }
  }
  return ran;
}

TEST(BudgetSearch, ComesCloseToTheBestOnMachinesOfManyKinds) {
  // Fixed costs, costs of a token and of attention over the whole pass, from a small model on a
  // fast machine to one where nothing but the tokens counts.
  for (const Machine& machine :
       {Machine{500, 40, 0.1}, Machine{5000, 20, 0.05}, Machine{100, 100, 0.01},
        Machine{2000, 10, 0.2}, Machine{0, 50, 0}, Machine{20'000, 5, 0}}) {
    SCOPED_TRACE(::testing::Message()
                 << machine.pass_us << " " << machine.token_us << " " << machine.pair_us);
    BudgetSearch search(2048, milliseconds(5000));
    run(search, [&](int32_t tokens) { return machine.time(tokens); });
    EXPECT_GE(machine.rate(search.best()), 0.93 * machine.best_rate(2048)) << search.best();
  }
}

TEST(BudgetSearch, KeepsToItsTime) {
  for (const double token_us : {10.0, 300.0, 4000.0}) {
    const Machine machine{.pass_us = 1000, .token_us = token_us};
    BudgetSearch search(2048, milliseconds(1500));
    const Ran ran = run(search, [&](int32_t tokens) { return machine.time(tokens); });
    EXPECT_LE(ran.time, milliseconds(1600)) << token_us;
    EXPECT_GE(ran.passes, 3) << token_us;
  }
}

TEST(BudgetSearch, WithoutTimeForMoreThanTheWarmUpItTakesTheUsualSize) {
  BudgetSearch search(2048, milliseconds(1500));
  const Ran ran = run(search, [](int32_t) { return std::chrono::seconds(3); });
  EXPECT_EQ(ran.passes, 1);
  EXPECT_TRUE(search.points().empty());
  EXPECT_EQ(search.best(), 256);
}

TEST(BudgetSearch, NeverTriesMoreThanItIsAllowed) {
  for (const int32_t tokens_max : {1, 63, 100, 700}) {
    BudgetSearch search(tokens_max, milliseconds(5000));
    run(search, [&](int32_t tokens) {
      EXPECT_LE(tokens, tokens_max);
      return milliseconds(10);  // the larger the better
    });
    EXPECT_EQ(search.best(), tokens_max);
  }
}

// The shorter of two times counts, and the first pass of all is not counted.
TEST(BudgetSearch, ASlowMomentDoesNotDecide) {
  const Machine machine{.pass_us = 1000, .token_us = 20, .pair_us = 0.05};
  BudgetSearch calm(2048, milliseconds(5000));
  run(calm, [&](int32_t tokens) { return machine.time(tokens); });
  for (int slow = 0; slow < 12; ++slow) {
    BudgetSearch search(2048, milliseconds(5000));
    int pass = 0;
    run(search, [&](int32_t tokens) { return machine.time(tokens) * (pass++ == slow ? 5 : 1); });
    // The first of a pair is repeated, so it cannot matter; nor can the second.
    EXPECT_EQ(search.best(), calm.best()) << "pass " << slow << " was slow";
  }
}

// Both passes of one size were slow: the sizes above it are tried all the same.
TEST(BudgetSearch, ASlowSizeDoesNotHideTheLargerOnes) {
  const Machine machine{.pass_us = 5000, .token_us = 20, .pair_us = 0.01};
  BudgetSearch search(2048, milliseconds(5000));
  run(search, [&](int32_t tokens) { return machine.time(tokens) * (tokens == 128 ? 4 : 1); });
  EXPECT_GE(machine.rate(search.best()), 0.93 * machine.best_rate(2048)) << search.best();
}

TEST(BudgetSearch, AStoppedSearchIsOver) {
  BudgetSearch search(2048, milliseconds(5000));
  search.stop();
  EXPECT_EQ(search.next(), std::nullopt);
  EXPECT_EQ(search.best(), 256);
}

TEST(BestBudget, OfEquallyGoodSizesTheOneInTheMiddleIsTaken) {
  const BudgetPoint worse{.tokens = 64, .duration = milliseconds(70)};
  const BudgetPoint small{.tokens = 128, .duration = milliseconds(129)};
  const BudgetPoint middle{.tokens = 256, .duration = milliseconds(256)};
  const BudgetPoint large{.tokens = 512, .duration = milliseconds(513)};
  EXPECT_EQ(best_budget({large, small, worse, middle}), 256);
  EXPECT_EQ(best_budget({small, worse, middle}), 256) << "of two the larger";
  EXPECT_EQ(best_budget({worse}), 64);
}

}  // namespace
}  // namespace windrow::engine
