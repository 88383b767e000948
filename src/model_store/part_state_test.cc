#include "model_store/part_state.h"

#include <gtest/gtest.h>

namespace windrow::model_store {
namespace {

TEST(PartState, IsReadAsItWasWritten) {
  const PartState state{.of = {.bytes = 70'000'000'000, .sha256 = "ab", .etag = "\"v\\\"1\""},
                        .bytes_synced = 64};
  const std::optional<PartState> read = parse_part_state(to_json(state));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->of.bytes, state.of.bytes);
  EXPECT_EQ(read->of.sha256, state.of.sha256);
  EXPECT_EQ(read->of.etag, state.of.etag);
  EXPECT_EQ(read->bytes_synced, 64U);
  EXPECT_EQ(parse_part_state(to_json(PartState{}))->of.bytes, std::nullopt);
  for (const char* text : {"", "{", "[]", "7"})
    EXPECT_FALSE(parse_part_state(text)) << text;
  EXPECT_TRUE(parse_part_state(R"({"bytes":-1,"etag":5})"));
}

TEST(PartState, WhatTheHashWillTellIsKeptWhole) {
  const PartState state{.of = {.bytes = 100, .sha256 = "h", .etag = "\"1\""}, .bytes_synced = 10};
  EXPECT_EQ(bytes_to_keep(state, 60, {.bytes = 100, .sha256 = "h", .etag = "\"2\""}), 60U);
  EXPECT_EQ(bytes_to_keep(state, 60, {.bytes = 100, .sha256 = "other", .etag = "\"1\""}), 0U);
}

TEST(PartState, WithoutAHashOnlyWhatWasSyncedOfTheSameFile) {
  const PartState state{.of = {.bytes = 100, .etag = "\"1\""}, .bytes_synced = 10};
  EXPECT_EQ(bytes_to_keep(state, 60, {.bytes = 100, .etag = "\"1\""}), 10U);
  EXPECT_EQ(bytes_to_keep(state, 5, {.bytes = 100, .etag = "\"1\""}), 5U);
  EXPECT_EQ(bytes_to_keep(state, 60, {.bytes = 100, .etag = "\"2\""}), 0U);
  EXPECT_EQ(bytes_to_keep(state, 60, {.bytes = 100}), 0U);
  EXPECT_EQ(bytes_to_keep(state, 60, {.bytes = 101, .etag = "\"1\""}), 0U);
  EXPECT_EQ(bytes_to_keep(state, 160, {.bytes = 100, .etag = "\"1\""}), 0U);
  EXPECT_EQ(bytes_to_keep(std::nullopt, 60, {.bytes = 100, .sha256 = "h"}), 0U);
}

}  // namespace
}  // namespace windrow::model_store
