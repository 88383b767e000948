#include "engine/schedule/batch_work_throttle.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace windrow::engine {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr Duration kAlone = milliseconds(5);

// Steps while clients always have something to compute, and a batch, too: so many rows of it, each
// with a token that takes so long.
struct RoundRobin {
  RoundRobin(int32_t rows, Duration of_token) : batch_rows(rows), token(of_token) {}

  void steps(int count) {
    for (int i = 0; i < count; ++i) {
      const int32_t tokens = std::min(batch_rows, turns.tokens().beside_clients_max);
      const Duration took = kAlone + token * tokens;
      turns.step_took({.clients_wait = true,
                       .clients_decode = true,
                       .background_tokens = tokens,
                       .duration = took});
      time += took;
      longest = std::max(longest, took);
      ++clients;
      batch_tokens += tokens;
      with_both += tokens > 0 ? 1 : 0;
    }
  }

  const int32_t batch_rows;
  const Duration token;
  BatchWorkThrottle turns;
  Duration time{};
  Duration longest{};
  int clients = 0;  // steps
  int with_both = 0;
  int64_t batch_tokens = 0;
};

TEST(BatchWorkThrottle, ClientsWaitLittleLongerHoweverDearBatchesAre) {
  for (const int token_us : {100, 500, 4000, 20'000}) {
    RoundRobin run(100, microseconds(token_us));
    run.steps(10'000);
    const double times = seconds(run.time) / seconds(kAlone * run.clients);
    EXPECT_GT(times, 1.1) << token_us << ": the batch has its part";
    EXPECT_LT(times, 1.16) << token_us;
    EXPECT_GT(run.batch_tokens, 0);
  }
}

TEST(BatchWorkThrottle, NoStepOfClientsIsMuchLongerForABatch) {
  RoundRobin run(100, microseconds(500));
  run.steps(1000);
  EXPECT_LE(run.longest, 2 * kAlone + microseconds(500));
  EXPECT_GE(run.longest, 2 * kAlone - microseconds(500)) << "and it is used";
}

TEST(BatchWorkThrottle, WhatCostsClientsNothingTakesPartInAll) {
  RoundRobin run(100, Duration{});
  run.steps(100);
  EXPECT_EQ(run.with_both, 99) << "all but the first, which says how long clients take";
  EXPECT_GE(run.batch_tokens, 98 * 100);
}

BatchWorkThrottle::Step both(int32_t tokens, Duration took) {
  return {
      .clients_wait = true, .clients_decode = true, .background_tokens = tokens, .duration = took};
}

BatchWorkThrottle::Step clients(Duration took) {
  return {.clients_wait = true, .clients_decode = true, .duration = took};
}

TEST(BatchWorkThrottle, OneStepThatHungDoesNotKeepBatchesOutForLong) {
  BatchWorkThrottle turns;
  turns.step_took(clients(milliseconds(10)));
  turns.step_took(both(8, std::chrono::minutes(5)));
  int steps = 0;
  for (; turns.tokens().beside_clients_max == 0; ++steps)
    turns.step_took(clients(milliseconds(10)));
  EXPECT_LE(steps, 668);
}

TEST(BatchWorkThrottle, WhereNobodyWaitsWhatIsOwedIsPaidSoon) {
  BatchWorkThrottle turns;
  turns.step_took(clients(kAlone));
  turns.step_took(both(8, milliseconds(100)));
  EXPECT_EQ(turns.tokens().beside_clients_max, 0);
  turns.step_took({.background_tokens = 30, .duration = milliseconds(95)});
  EXPECT_GT(turns.tokens().beside_clients_max, 0);
}

// Their prompts are not what clients take for a word, nor what tokens of batches cost.
TEST(BatchWorkThrottle, PromptsOfClientsAreNotTakenForWords) {
  BatchWorkThrottle turns;
  BatchWorkThrottle::Step prompt = clients(milliseconds(200));
  prompt.clients_decode = false;
  prompt.clients_prefill = true;
  for (int i = 0; i < 100; ++i) {
    turns.step_took(clients(kAlone));
    turns.step_took(prompt);
  }
  turns.step_took(both(20, milliseconds(25)));
  EXPECT_EQ(turns.tokens().beside_clients_max, 0);
  // 20 ms are owed, and 15 % of each step pays.
  for (int i = 0; i < 26; ++i)
    turns.step_took(clients(kAlone));
  EXPECT_EQ(turns.tokens().beside_clients_max, 0);
  turns.step_took(clients(kAlone));
  EXPECT_EQ(turns.tokens().beside_clients_max, 8) << "at 1 ms each five were as long as theirs";

  BatchWorkThrottle::Step prompts_of_both = prompt;
  prompts_of_both.background_tokens = 8;
  turns.step_took(prompts_of_both);  // of which 8 ms are the batch's
  for (int i = 0; i < 10; ++i)
    turns.step_took(clients(kAlone));
  EXPECT_EQ(turns.tokens().beside_clients_max, 0);
  turns.step_took(clients(kAlone));
  EXPECT_EQ(turns.tokens().beside_clients_max, 8);
}

// A cache that does not mix: it computes prompts of a batch in steps of their own, and clients
// wait.
TEST(BatchWorkThrottle, AStepThatClientsOnlyWaitForIsOwedWhole) {
  BatchWorkThrottle turns;
  turns.step_took(clients(kAlone));
  BatchWorkThrottle::Step prompt = both(40, milliseconds(40));
  prompt.clients_decode = false;
  turns.step_took(prompt);
  for (int i = 0; i < 53; ++i)
    turns.step_took(clients(kAlone));
  EXPECT_EQ(turns.tokens().beside_clients_max, 0);
  turns.step_took(clients(kAlone));
  EXPECT_EQ(turns.tokens().beside_clients_max, 8) << "it is known what a token takes: 1 ms";
}

TEST(BatchWorkThrottle, WhoIsAboutToAskAgainMeetsNoLongStep) {
  BatchWorkThrottle turns;
  EXPECT_EQ(turns.tokens().between_clients_max, INT32_MAX) << "nobody was ever there";
  turns.step_took(clients(kAlone));
  turns.step_took(both(20, kAlone + milliseconds(20)));
  const BatchWorkThrottle::Step between{.background_tokens = 15, .duration = milliseconds(20)};
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(turns.tokens().between_clients_max, 15);
    turns.step_took(between);
  }
  EXPECT_EQ(turns.tokens().between_clients_max, INT32_MAX) << "nobody came for two seconds";
}

}  // namespace
}  // namespace windrow::engine
