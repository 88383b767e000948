#include "engine/embed/embedding_batch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <vector>

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

// To one work, unless told otherwise.
void add(EmbeddingBatch& batch, uint64_t id, int32_t tokens, uint64_t work = 0,
         llm::Priority priority = llm::Priority::kNormal) {
  batch.add(InputId(id), tokens, WorkId(work), priority);
}

std::vector<uint64_t> pass_of(EmbeddingBatch& batch, EmbeddingBatch::Budget budget) {
  std::vector<uint64_t> pass;
  for (const InputId id : batch.next(budget))
    pass.push_back(id.value());
  batch.ran();
  return pass;
}

TEST(EmbeddingBatch, TakesInputsInOrderAsFarAsTheBudgetGoes) {
  EmbeddingBatch batch(limits_of(100, 10, 100));
  for (const auto& [id, tokens] : {std::pair(1, 40), {2, 10}, {3, 1}, {4, 30}})
    add(batch, static_cast<uint64_t>(id), tokens);
  EXPECT_THAT(batch.next({.tokens = 50}), ElementsAre(InputId(1), InputId(2)));
  batch.ran();
  EXPECT_THAT(batch.next({.tokens = 50}), ElementsAre(InputId(3), InputId(4)));
  batch.ran();
  EXPECT_THAT(batch.next({.tokens = 50}), IsEmpty());
}

TEST(EmbeddingBatch, AnInputLongerThanTheBudgetGoesAlone) {
  EmbeddingBatch batch(limits_of(100, 10, 100));
  add(batch, 1, 90);
  add(batch, 2, 5);
  EXPECT_THAT(batch.next({.tokens = 50}), ElementsAre(InputId(1)));
}

TEST(EmbeddingBatch, InputsOfAFailedPassGoAgainAloneAndFirst) {
  EmbeddingBatch batch(limits_of(100, 2, 100));
  for (uint64_t id = 1; id <= 3; ++id)
    add(batch, id, 5);
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
    add(batch, id, 5);
  batch.remove_if([](InputId id) { return id.value() % 2 == 1; });
  EXPECT_EQ(batch.waiting(), 2);
  EXPECT_THAT(batch.next({.tokens = 50}), ElementsAre(InputId(2), InputId(4)));
}

// The inputs of work w are 1000 w, 1000 w + 1, and so on.
void add_work(EmbeddingBatch& batch, uint64_t work, int inputs,
              llm::Priority priority = llm::Priority::kNormal) {
  for (uint64_t i = 0; i < static_cast<uint64_t>(inputs); ++i)
    add(batch, 1000 * work + i, 10, work, priority);
}

TEST(EmbeddingBatch, TheOldestHasHalfAndTheRestGoesToThoseThatHaveLeastLeft) {
  EmbeddingBatch batch(limits_of(100, 100, 100));
  add_work(batch, 1, 20);
  add_work(batch, 2, 7);
  add_work(batch, 3, 1);
  EXPECT_THAT(pass_of(batch, {.tokens = 80}),
              ElementsAre(1000, 1001, 1002, 1003, 3000, 2000, 2001, 2002));
  EXPECT_THAT(pass_of(batch, {.tokens = 80}),
              ElementsAre(1004, 1005, 1006, 1007, 2003, 2004, 2005, 2006));
  EXPECT_THAT(pass_of(batch, {.tokens = 80}),
              ElementsAre(1008, 1009, 1010, 1011, 1012, 1013, 1014, 1015));
}

// Equal works end in their order: bringing them on side by side would delay all but the last.
TEST(EmbeddingBatch, EqualWorksGoOneAfterTheOther) {
  EmbeddingBatch batch(limits_of(100, 100, 100));
  add_work(batch, 1, 10);
  add_work(batch, 2, 10);
  EXPECT_THAT(pass_of(batch, {.tokens = 80}),
              ElementsAre(1000, 1001, 1002, 1003, 1004, 1005, 1006, 1007));
  EXPECT_THAT(pass_of(batch, {.tokens = 80}),
              ElementsAre(1008, 1009, 2000, 2001, 2002, 2003, 2004, 2005));
}

TEST(EmbeddingBatch, TheMostUrgentGoFirst) {
  EmbeddingBatch batch(limits_of(100, 100, 100));
  add_work(batch, 1, 20, llm::Priority::kBatch);
  add_work(batch, 2, 3, llm::Priority::kNormal);
  add_work(batch, 3, 2, llm::Priority::kInteractive);
  EXPECT_EQ(batch.oldest(), InputId(1000));
  EXPECT_THAT(pass_of(batch, {.tokens = 60}), ElementsAre(3000, 3001, 2000, 2001, 2002, 1000));
}

TEST(EmbeddingBatch, WhatAMoreUrgentWorkWantsTooIsAsUrgent) {
  EmbeddingBatch batch(limits_of(100, 100, 100));
  add_work(batch, 1, 20, llm::Priority::kBatch);
  add_work(batch, 2, 1, llm::Priority::kInteractive);
  batch.wanted_by(InputId(1019), WorkId(2), llm::Priority::kInteractive);
  batch.wanted_by(InputId(2000), WorkId(1), llm::Priority::kBatch);
  EXPECT_THAT(pass_of(batch, {.tokens = 30}), ElementsAre(2000, 1019, 1000));
  EXPECT_EQ(batch.waiting(), 19 - 1);
}

TEST(EmbeddingBatch, WhoIsPassedOverHasATurn) {
  for (const llm::Priority priority : {llm::Priority::kNormal, llm::Priority::kBatch}) {
    EmbeddingBatch batch(limits_of(40, 100, 40));
    add_work(batch, 1, 3, priority);
    int32_t without = 0;
    int32_t without_most = 0;
    for (uint64_t work = 2; batch.oldest().value() < 2000; ++work) {
      ASSERT_LT(work, 1000U);
      add_work(batch, work, 8, llm::Priority::kInteractive);
      const std::vector<uint64_t> pass = pass_of(batch, {.tokens = 40});
      without = pass.front() < 2000 ? 0 : without + 1;
      without_most = std::max(without_most, without);
    }
    EXPECT_EQ(without_most, queueing::BypassLimits().of(priority));
  }
}

// Works of any priority come and go at random; passes fail at random.
TEST(EmbeddingBatch, FuzzedEveryInputRunsOnceWithinTheLimitsAndInTurn) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Random random(seed);
    const auto batch_tokens = static_cast<int32_t>(random.between(1, 300));
    const bool can_chunk = random.chance(0.3);
    const EmbeddingLimits limits =
        limits_of(batch_tokens, static_cast<int32_t>(random.between(1, 9)),
                  can_chunk ? 2 * batch_tokens : batch_tokens);
    EmbeddingBatch batch(limits);
    struct Truth {
      int32_t tokens = 0;
      uint64_t work = 0;
      llm::Priority priority = llm::Priority::kNormal;
      bool has_failed = false;
    };
    std::map<uint64_t, Truth> waiting;  // by the number of the input
    std::array<int32_t, 3> passes_without{};
    uint64_t added = 0;
    uint64_t works = 0;
    while (added < 200 || !waiting.empty()) {
      while (added < 200 && random.chance(0.4)) {
        const uint64_t work = works++;
        const auto priority = static_cast<llm::Priority>(random.below(3));
        for (int64_t left = random.chance(0.2) ? 20 : random.between(1, 3); left > 0; --left) {
          const auto tokens = static_cast<int32_t>(random.between(1, limits.input_tokens_max));
          const int32_t length = random.chance(0.8) ? std::max(tokens / 10, 1) : tokens;
          waiting[added] = {.tokens = length, .work = work, .priority = priority};
          add(batch, added++, length, work, priority);
        }
      }
      if (!waiting.empty() && random.chance(0.05)) {
        const uint64_t work = waiting.begin()->second.work;
        const auto is_of_it = [&](uint64_t id) { return waiting.at(id).work == work; };
        batch.remove_if([&](InputId id) { return is_of_it(id.value()); });
        std::erase_if(waiting, [&](const auto& one) { return one.second.work == work; });
      }
      ASSERT_EQ(batch.waiting(), std::ssize(waiting));
      const auto budget = static_cast<int32_t>(random.between(1, 400));
      const std::vector<InputId> pass = batch.next({.tokens = budget});
      if (pass.empty()) {
        ASSERT_TRUE(waiting.empty()) << "an input waits for ever";
        continue;
      }
      ASSERT_LE(pass.size(), static_cast<size_t>(limits.inputs_max));
      int32_t tokens = 0;
      bool again = false;
      std::set<uint64_t> in_pass;
      std::array<bool, 3> has{};
      for (const InputId id : pass) {
        ASSERT_TRUE(waiting.contains(id.value())) << id.value() << " runs twice";
        ASSERT_TRUE(in_pass.insert(id.value()).second);
        const Truth& input = waiting.at(id.value());
        ASSERT_TRUE(pass.size() == 1 || !input.has_failed) << "not alone";
        again = again || input.has_failed;
        tokens += input.tokens;
        has[static_cast<size_t>(input.priority)] = true;
      }
      ASSERT_TRUE(pass.size() == 1 || tokens <= std::min(budget, batch_tokens));
      std::array<bool, 3> waits{};
      std::array<bool, 3> oldest_is_in{};
      for (const auto& [id, input] : waiting) {
        const auto i = static_cast<size_t>(input.priority);
        if (!waits[i]) oldest_is_in[i] = in_pass.contains(id);
        waits[i] = true;
        // Inputs of one work in their order.
        if (!again && in_pass.contains(id)) {
          for (auto before = waiting.begin(); before->first < id; ++before)
            ASSERT_TRUE(before->second.work != input.work || in_pass.contains(before->first));
        }
      }
      for (size_t i = 0; i < has.size() && !again; ++i) {
        ASSERT_TRUE(!has[i] || oldest_is_in[i]) << "the oldest is overtaken";
        passes_without[i] = waits[i] && !has[i] ? passes_without[i] + 1 : 0;
        // Two may have their turn at once.
        if (i > 0) {
          ASSERT_LE(passes_without[i],
                    queueing::BypassLimits().of(static_cast<llm::Priority>(i)) + 1);
        }
      }
      ASSERT_LE(passes_without[0], 2) << "the most urgent are in every pass that is not a turn";
      if (random.chance(0.1)) {
        const bool goes_again = batch.failed();
        ASSERT_EQ(goes_again, pass.size() > 1);
        for (const InputId id : pass)
          waiting.at(id.value()).has_failed = true;
        if (!goes_again) waiting.erase(pass.front().value());
      } else {
        batch.ran();
        for (const InputId id : pass)
          waiting.erase(id.value());
      }
    }
    EXPECT_EQ(batch.waiting(), 0);
  }
}

}  // namespace
}  // namespace windrow::engine
