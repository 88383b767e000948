// Which blocks of an interpreter's memory are stacks and long strings, and how often the clock is
// looked at because of them.
#include "program/lua/lua_blocks.h"

#include <gtest/gtest.h>

#include <array>
#include <lua.hpp>

namespace windrow::program {
namespace {

constexpr int kNormally = 100;

constexpr size_t stack_bytes(size_t slots) {
  return (slots + 5) * 16;
}

class LuaBlocksTest : public testing::Test {
 protected:
  // As a coroutine is made: itself, and then its stack.
  void make_coroutine(size_t stack) {
    blocks_.on_made(&places_[9], LUA_TTHREAD, 208);
    blocks_.on_made(&places_[stack], 0, stack_bytes(40));
  }
  void give_length(size_t from, size_t slots, size_t to, size_t new_slots) {
    blocks_.on_made(&places_[to], 0, stack_bytes(new_slots));
    blocks_.on_freed(&places_[from], stack_bytes(slots));
  }

  std::array<char, 10> places_ = {};
  LuaBlocks blocks_;
};

TEST_F(LuaBlocksTest, AStackIsFollowedWhileItGrows) {
  make_coroutine(0);
  EXPECT_EQ(blocks_.instructions_at_once(kNormally), kNormally);
  give_length(0, 40, 1, 1000);
  EXPECT_EQ(blocks_.instructions_at_once(kNormally), 10);
  give_length(1, 1000, 2, 5120);
  EXPECT_EQ(blocks_.instructions_at_once(kNormally), 2);
  give_length(2, 5120, 3, 40);
  EXPECT_EQ(blocks_.instructions_at_once(kNormally), kNormally);
  blocks_.on_resized(&places_[3], stack_bytes(40), &places_[4], stack_bytes(1000));
  EXPECT_EQ(blocks_.instructions_at_once(kNormally), 10);
  blocks_.on_freed(&places_[4], stack_bytes(1000));
  EXPECT_EQ(blocks_.instructions_at_once(kNormally), kNormally);
}

TEST_F(LuaBlocksTest, AStackMayNotBecomeTwiceAsLongAboveTheLimit) {
  make_coroutine(0);
  EXPECT_FALSE(blocks_.would_be_long_stack(0, stack_bytes(80)));
  give_length(0, 40, 1, kStackSlotsMax / 2);
  EXPECT_FALSE(blocks_.would_be_long_stack(0, stack_bytes(kStackSlotsMax)));
  give_length(1, kStackSlotsMax / 2, 2, kStackSlotsMax);
  EXPECT_TRUE(blocks_.would_be_long_stack(0, stack_bytes(2 * kStackSlotsMax)));
  // Not an object, and no block of another size.
  EXPECT_FALSE(blocks_.would_be_long_stack(LUA_TSTRING, stack_bytes(2 * kStackSlotsMax)));
  EXPECT_FALSE(blocks_.would_be_long_stack(0, stack_bytes(2 * kStackSlotsMax) + 16));
  EXPECT_FALSE(blocks_.has_long_stack());
}

TEST_F(LuaBlocksTest, AStackThatBecameTooLongAtOnceIsNoticed) {
  make_coroutine(0);
  EXPECT_FALSE(blocks_.would_be_long_stack(0, stack_bytes(kStackSlotsMax + 1)));
  give_length(0, 40, 1, kStackSlotsMax + 1);
  EXPECT_TRUE(blocks_.has_long_stack());
}

TEST_F(LuaBlocksTest, TheBlockOfATableIsNoStack) {
  make_coroutine(0);
  blocks_.on_made(&places_[1], 0, stack_bytes(5000));
  blocks_.on_made(&places_[2], LUA_TTABLE, 56);
  blocks_.on_freed(&places_[0], stack_bytes(40));
  EXPECT_EQ(blocks_.instructions_at_once(kNormally), kNormally);
  blocks_.on_resized(&places_[1], stack_bytes(5000), &places_[3], stack_bytes(1 << 20));
  EXPECT_EQ(blocks_.instructions_at_once(kNormally), kNormally);
  EXPECT_FALSE(blocks_.has_long_stack());
}

TEST_F(LuaBlocksTest, LongStringsCountWhileTheyLive) {
  blocks_.on_made(&places_[0], LUA_TSTRING, 1000);
  blocks_.on_made(&places_[1], LUA_TTABLE, 1 << 20);
  EXPECT_EQ(blocks_.instructions_at_once(kNormally), kNormally);
  blocks_.on_made(&places_[2], LUA_TSTRING, 20'000);
  EXPECT_EQ(blocks_.instructions_at_once(kNormally), 10);
  EXPECT_EQ(blocks_.instructions_at_once(5), 5);
  blocks_.on_made(&places_[3], LUA_TSTRING, 1 << 20);
  EXPECT_EQ(blocks_.instructions_at_once(kNormally), 2);
  blocks_.on_freed(&places_[1], 1 << 20);
  EXPECT_EQ(blocks_.instructions_at_once(kNormally), 2);
  blocks_.on_freed(&places_[3], 1 << 20);
  EXPECT_EQ(blocks_.instructions_at_once(kNormally), 10);
  blocks_.on_freed(&places_[2], 20'000);
  EXPECT_EQ(blocks_.instructions_at_once(kNormally), kNormally);
}

}  // namespace
}  // namespace windrow::program
