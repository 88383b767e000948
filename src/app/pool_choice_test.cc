#include "app/pool_choice.h"

#include <gtest/gtest.h>

namespace windrow::app {
namespace {

const std::vector<std::string> kNames = {"chat", "embed", "large"};

std::string why(const Settings& settings) {
  const Result<PoolChoice> choice = pool_choice(settings, kNames);
  return choice ? "accepted" : choice.error().message;
}

// The names of those that are loaded first; or why none are.
std::string first(const Settings& settings, const std::vector<uint64_t>& bytes,
                  uint64_t memory_bytes) {
  const Result<PoolChoice> choice = pool_choice(settings, kNames);
  if (!choice) return choice.error().message;
  std::vector<engine::PooledModelFacts> facts;
  for (size_t i = 0; i < bytes.size(); ++i)
    facts.push_back({.bytes = bytes[i], .pinned = choice->kept[i]});
  const auto chosen = models_to_load_first(*choice, facts, kNames, memory_bytes);
  if (!chosen) return chosen.error().message;
  std::string names;
  for (const engine::PooledModelId id : *chosen)
    names += (names.empty() ? "" : " ") + kNames[id.value()];
  return names;
}

TEST(PoolChoice, NamesAreThoseOfModelsAndSizesAreSizes) {
  EXPECT_EQ(why({}), "accepted");
  EXPECT_EQ(why({.load = {"chat"}, .memory = "12G", .keep_loaded = {"embed"}}), "accepted");
  EXPECT_EQ(why({.load = {"chta"}}),
            "--load chta: no model is called that; there is chat, embed, large");
  EXPECT_EQ(why({.keep_loaded = {"x"}}),
            "--keep-loaded x: no model is called that; there is chat, embed, large");
  EXPECT_EQ(why({.memory = "much"}), "--memory much: write an amount such as 12G or 800M");
  EXPECT_EQ(
      why({.memory = "100"}),
      "--memory 100 is 100 B, in which no model has room; write an amount such as 12G or 800M");
  EXPECT_EQ(why({.memory = "0"}), "--memory 0: write an amount such as 12G or 800M");
}

TEST(PoolChoice, WhatIsLoadedFirst) {
  EXPECT_EQ(first({}, {4, 4, 4}, 10), "chat embed");
  EXPECT_EQ(first({}, {4, 7, 5}, 10), "chat large");
  EXPECT_EQ(first({.load = {"large"}}, {4, 4, 4}, 10), "large");
  EXPECT_EQ(first({.keep_loaded = {"large"}}, {4, 7, 5}, 10), "chat large");
  EXPECT_EQ(first({.load = {"embed"}, .keep_loaded = {"large"}}, {4, 4, 4}, 10), "embed large");
  EXPECT_EQ(first({.load = {"large"}}, {4, 4, 40}, 10), "large") << "one alone always is";
  EXPECT_EQ(first({.load = {"chat", "embed", "large"}}, {4, 4, 4}, 10),
            "chat, embed, large do not fit together: they need about 12 B, and there are 10 B; "
            "keep or load fewer at the start, or give them a smaller --ctx or more --memory");
}

// Contexts are at most 0.4 of what they are chosen by.
TEST(PoolChoice, ContextsLeaveRoomForAllModelsOrForOthersAtLeast) {
  const std::vector<uint64_t> small = {1000, 2000, 1000};
  uint64_t all = 0;
  for (size_t i = 0; i < small.size(); ++i)
    all += small[i] + context_memory(small, i, 20'000) * 2 / 5;
  EXPECT_LE(all, 20'000U);
  EXPECT_GT(all, 12'000U) << "what is there is used";
  const std::vector<uint64_t> large = {9000, 9000, 9000};
  EXPECT_EQ(context_memory(large, 1, 20'000), 5500U);
  EXPECT_EQ(context_memory(large, 1, 5000), 1U) << "the least there is";
  EXPECT_EQ(context_memory(large, 1, 0), 0U) << "nobody says how much there is";
}

}  // namespace
}  // namespace windrow::app
