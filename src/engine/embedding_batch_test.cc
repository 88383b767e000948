#include "engine/embedding_batch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/random.h"

namespace windrow::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

EmbeddingLimits limits_of(int32_t batch_tokens, int32_t inputs, int32_t input_tokens) {
  return {.batch_tokens_max = batch_tokens,
          .inputs_max = inputs,
          .input_tokens_max = input_tokens,
          .dimensions = 4,
          .vocabulary_size = 100};
}

TEST(EmbeddingBatch, TakesInputsInOrderAsFarAsTheBudgetGoes) {
  EmbeddingBatch batch(limits_of(100, 10, 100));
  for (const auto& [id, tokens] : {std::pair(1, 40), {2, 10}, {3, 1}, {4, 30}})
    batch.add(InputId(static_cast<uint64_t>(id)), tokens);
  EXPECT_THAT(batch.next({.tokens = 50}), ElementsAre(InputId(1), InputId(2)));
  batch.ran();
  EXPECT_THAT(batch.next({.tokens = 50}), ElementsAre(InputId(3), InputId(4)));
  batch.ran();
  EXPECT_THAT(batch.next({.tokens = 50}), IsEmpty());
}

TEST(EmbeddingBatch, AnInputLongerThanTheBudgetGoesAlone) {
  EmbeddingBatch batch(limits_of(100, 10, 100));
  batch.add(InputId(1), 90);
  batch.add(InputId(2), 5);
  EXPECT_THAT(batch.next({.tokens = 50}), ElementsAre(InputId(1)));
}

TEST(EmbeddingBatch, InputsOfAFailedPassGoAgainAloneAndFirst) {
  EmbeddingBatch batch(limits_of(100, 2, 100));
  for (uint64_t id = 1; id <= 3; ++id)
    batch.add(InputId(id), 5);
  EXPECT_THAT(batch.next({.tokens = 50}), ElementsAre(InputId(1), InputId(2)));
  EXPECT_TRUE(batch.failed());
  EXPECT_THAT(batch.next({.tokens = 50}), ElementsAre(InputId(1)));
  EXPECT_FALSE(batch.failed()) << "it is gone";
  EXPECT_THAT(batch.next({.tokens = 50}), ElementsAre(InputId(2)));
  batch.ran();
  EXPECT_THAT(batch.next({.tokens = 50}), ElementsAre(InputId(3)));
}

TEST(EmbeddingBatch, WhatIsRemovedDoesNotRun) {
  EmbeddingBatch batch(limits_of(100, 10, 100));
  for (uint64_t id = 1; id <= 4; ++id)
    batch.add(InputId(id), 5);
  batch.remove_if([](InputId id) { return id.value() % 2 == 1; });
  EXPECT_EQ(batch.waiting(), 2);
  EXPECT_THAT(batch.next({.tokens = 50}), ElementsAre(InputId(2), InputId(4)));
}

// Inputs come and go at random; passes fail at random.
TEST(EmbeddingBatch, FuzzedEveryInputRunsOnceWithinTheLimitsAndInTurn) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Random random(seed);
    const auto batch_tokens = static_cast<int32_t>(random.between(1, 300));
    const bool can_chunk = random.chance(0.3);
    const EmbeddingLimits limits =
        limits_of(batch_tokens, static_cast<int32_t>(random.between(1, 9)),
                  can_chunk ? 2 * batch_tokens : batch_tokens);
    EmbeddingBatch batch(limits);
    std::map<uint64_t, int32_t> lengths;
    std::set<uint64_t> ran;
    std::set<uint64_t> lost;
    std::set<uint64_t> has_failed;
    uint64_t added = 0;
    uint64_t oldest_seen = 0;
    while (added < 150 || ran.size() + lost.size() < added) {
      while (added < 150 && random.chance(0.7)) {
        const auto tokens = static_cast<int32_t>(random.between(1, limits.input_tokens_max));
        lengths[added] = random.chance(0.8) ? std::max(tokens / 10, 1) : tokens;
        batch.add(InputId(added), lengths[added]);
        ++added;
      }
      const auto budget = static_cast<int32_t>(random.between(1, 400));
      const std::vector<InputId> pass = batch.next({.tokens = budget});
      if (pass.empty()) {
        ASSERT_EQ(ran.size() + lost.size(), added) << "an input waits for ever";
        continue;
      }
      ASSERT_LE(pass.size(), static_cast<size_t>(limits.inputs_max));
      int32_t tokens = 0;
      for (const InputId id : pass) {
        ASSERT_FALSE(ran.contains(id.value()) || lost.contains(id.value())) << id.value();
        ASSERT_TRUE(pass.size() == 1 || !has_failed.contains(id.value())) << "not alone";
        tokens += lengths[id.value()];
      }
      ASSERT_TRUE(pass.size() == 1 || tokens <= std::min(budget, batch_tokens));
      // None overtakes: the oldest that is left is always in.
      ASSERT_EQ(pass.front().value(), oldest_seen);
      ASSERT_TRUE(std::is_sorted(pass.begin(), pass.end()));
      if (random.chance(0.1)) {
        for (const InputId id : pass)
          has_failed.insert(id.value());
        if (!batch.failed()) lost.insert(pass.front().value());
      } else {
        batch.ran();
        for (const InputId id : pass)
          ran.insert(id.value());
      }
      while (ran.contains(oldest_seen) || lost.contains(oldest_seen))
        ++oldest_seen;
    }
    EXPECT_EQ(ran.size() + lost.size(), 150U);
  }
}

}  // namespace
}  // namespace windrow::engine
