// How often an item is sent, where that is its own affair.
#include <gtest/gtest.h>

#include "dispatch/testing/policy_rig.h"

namespace windrow::dispatch {
namespace {

using testing::fixed;
using Rig = testing::PolicyRig;
using Ids = std::vector<uint64_t>;

TEST(DispatchPolicyAttempts, AnItemMayHaveItsOwnNumberOfAttempts) {
  DispatchPolicyOptions options = fixed({3});
  options.router.failures_max = 0;
  Rig rig(options);
  rig.submit(1, {.attempts_max = 1});
  rig.submit(2);
  rig.submit(3, {.attempts_max = 4});
  for (int i = 0; i < 3; ++i)
    rig.fail_next(Fault::kTransient);
  EXPECT_EQ(rig.how(1), ItemEnd::kFailed);
  EXPECT_EQ(rig.ends.at(1).attempts.used, 1);
  EXPECT_EQ(rig.ids_out(), (Ids{2, 3}));
  while (!rig.out.empty())
    rig.fail_next(Fault::kTransient);
  EXPECT_EQ(rig.ends.at(2).attempts.used, 3);
  EXPECT_EQ(rig.ends.at(3).attempts.used, 4);
}

TEST(DispatchPolicyAttempts, OneThatIsTriedOnceDoesNotWaitForAServerThatRefusesOrIsAway) {
  for (const Fault fault : {Fault::kOverloaded, Fault::kUnreached}) {
    Rig rig(fixed({2}));
    rig.submit(1, {.attempts_max = 1});
    rig.submit(2);
    rig.fail_next(fault);
    rig.fail_next(fault);
    ASSERT_TRUE(rig.ends.contains(1));
    EXPECT_EQ(rig.how(1), ItemEnd::kFailed);
    EXPECT_FALSE(rig.ends.contains(2));
  }
}

// Or an equal item that may be tried often would end after one attempt, and the other way round.
TEST(DispatchPolicyAttempts, OneWithItsOwnNumberOfAttemptsSharesNoCall) {
  Rig rig(fixed({4}));
  rig.submit(1, {.same_answer = Hash128{1, 1}});
  rig.submit(2, {.same_answer = Hash128{1, 1}, .attempts_max = 1});
  rig.submit(3, {.pack = 7, .attempts_max = 1});
  rig.submit(4, {.pack = 7, .attempts_max = 1});
  EXPECT_EQ(rig.out.size(), 4U);
  rig.end_next({.fault = Fault::kTransient});
  rig.end_next({.fault = Fault::kTransient});
  EXPECT_FALSE(rig.ends.contains(1));
  EXPECT_EQ(rig.how(2), ItemEnd::kFailed);
}

// To the client it is an answer, to the upstream a failure.
TEST(DispatchPolicyAttempts, AnErrorThatIsPassedOnIsNotTriedAgainAndCountsAgainstItsUpstream) {
  DispatchPolicyOptions options = fixed({0});
  options.upstreams[0].concurrency = {.initial = 16};
  Rig rig(options);
  for (uint64_t id = 1; id <= 60; ++id)
    rig.submit(id);
  for (int i = 0; i < 16; ++i)
    rig.end_next({.fault = Fault::kOverloaded, .passed_on = true});
  for (uint64_t id = 1; id <= 16; ++id)
    EXPECT_EQ(rig.how(id), ItemEnd::kAnswered);
  EXPECT_EQ(rig.policy.counts().retries, 0);
  EXPECT_LT(rig.policy.limit(UpstreamId(0)), 16);
}

}  // namespace
}  // namespace windrow::dispatch
