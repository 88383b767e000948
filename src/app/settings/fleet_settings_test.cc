#include "app/settings/fleet_settings.h"

#include <gtest/gtest.h>

#include "app/settings/resolve_settings.h"
#include "fleet/local_server_fleet.h"

namespace windrow::app {
namespace {

constexpr uint64_t kGibibyte = uint64_t{1} << 30;

TEST(ReplyMemory, FollowsTheMachineWithinBounds) {
  EXPECT_EQ(reply_memory_bytes(0, 4 * kGibibyte), kGibibyte / 4);
  EXPECT_EQ(reply_memory_bytes(0, 0), kReplyMemoryMin);
  EXPECT_EQ(reply_memory_bytes(0, 1000 * kGibibyte), kReplyMemoryMax);
  EXPECT_GT(machine_memory_bytes(), 0U);
}

TEST(ReplyMemory, IsWhatWasAskedFor) {
  EXPECT_EQ(reply_memory_bytes(3, 1000 * kGibibyte), size_t{3} << 20);
}

TEST(DeviceSettings, AreWhatTheEngineIsGiven) {
  const fleet::EngineOptions options = engine_options(SettingsOf::kRun, {.device = "CUDA1,CUDA0",
                                                                         .gpu_layers = 20,
                                                                         .split_mode = "row",
                                                                         .tensor_split = "3,1",
                                                                         .rpc_workers = {"a:1"}});
  EXPECT_EQ(options.devices.names, "CUDA1,CUDA0");
  EXPECT_EQ(options.devices.gpu_layers, 20);
  EXPECT_EQ(options.devices.split, engine::SplitMode::kRow);
  EXPECT_EQ(options.devices.shares, "3,1");
  EXPECT_EQ(options.rpc_workers, std::vector<std::string>{"a:1"});
  const fleet::EngineOptions otherwise = engine_options(SettingsOf::kRun, {});
  EXPECT_EQ(otherwise.devices.gpu_layers, -1);
  EXPECT_EQ(otherwise.devices.split, engine::SplitMode::kLayer);
}

TEST(DeviceSettings, AllLayersHaveAWordThatIsWrittenAndShown) {
  const SettingRow& row = *find_setting("gpu-layers");
  EXPECT_EQ(value_of({}, row), "all");
  EXPECT_EQ(value_of({.gpu_layers = 7}, row), 7);
  EXPECT_EQ(default_text(row), "all");
  const GivenFlag all{.row = &row, .written = "--gpu-layers", .text = "all"};
  EXPECT_EQ(resolve_settings(std::vector{all}, {}, {})->values.gpu_layers, -1);
}

const std::vector<std::string> kNames = {"chat", "embed", "large"};

std::string why(const Settings& settings) {
  const Result<fleet::PoolOptions> pool = pool_options(settings, kNames);
  return pool ? "accepted" : pool.error().message;
}

// The names of those that are loaded first; or why none are.
std::string first(const Settings& settings, const std::vector<uint64_t>& bytes,
                  uint64_t memory_bytes) {
  const Result<fleet::PoolOptions> pool = pool_options(settings, kNames);
  if (!pool) return pool.error().message;
  std::vector<engine::ModelNeeds> facts;
  for (size_t i = 0; i < bytes.size(); ++i)
    facts.push_back({.bytes = bytes[i], .pinned = pool->pinned[i]});
  const auto chosen = fleet::models_to_load_first(*pool, facts, kNames, memory_bytes);
  if (!chosen) return chosen.error().message;
  std::string names;
  for (const engine::ModelId id : *chosen)
    names += (names.empty() ? "" : " ") + kNames[id.value()];
  return names;
}

TEST(PoolSettings, NamesAreThoseOfModelsAndSizesAreSizes) {
  EXPECT_EQ(why({}), "accepted");
  EXPECT_EQ(why({.load = {"chat"}, .memory = "12G", .keep_loaded = {"embed"}}), "accepted");
  EXPECT_EQ(why({.load = {"chta"}}),
            "--load chta: no model has this name; there is chat, embed, large");
  EXPECT_EQ(why({.keep_loaded = {"x"}}),
            "--keep-loaded x: no model has this name; there is chat, embed, large");
  EXPECT_EQ(why({.memory = "much"}), "--memory much: write an amount such as 12G or 800M");
  EXPECT_EQ(why({.memory = "100"}),
            "--memory 100 is 100 B, too little for any model; write an amount such as 12G or 800M");
  EXPECT_EQ(why({.memory = "0"}), "--memory 0: write an amount such as 12G or 800M");
}

TEST(PoolSettings, WhatIsLoadedFirst) {
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

TEST(MemorySize, IsReadAsPeopleWriteIt) {
  EXPECT_EQ(parse_memory_size("0"), 0U);
  EXPECT_EQ(parse_memory_size("4096"), 4096U);
  EXPECT_EQ(parse_memory_size("4096B"), 4096U);
  EXPECT_EQ(parse_memory_size("2K"), 2048U);
  EXPECT_EQ(parse_memory_size("12G"), uint64_t{12} << 30U);
  EXPECT_EQ(parse_memory_size("1.5GiB"), uint64_t{3} << 29U);
  EXPECT_EQ(parse_memory_size("800MB"), 800'000'000U);
  EXPECT_EQ(parse_memory_size("1T"), uint64_t{1} << 40U);
}

TEST(MemorySize, OrNotAtAll) {
  for (const char* text :
       {"", "G", "-1G", "12g", "12Gb", "12 G", "12GG", "1e3", "0x10", "nan", "99999999T"})
    EXPECT_EQ(parse_memory_size(text), std::nullopt) << text;
}

}  // namespace
}  // namespace windrow::app
