#include "http/reply_budget.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/random.h"

namespace windrow::http {
namespace {

TEST(ReplyBudget, WhereItIsUsedUpOnlyTheOldestGoesOn) {
  ReplyBudget room(100);
  int resumed = 0;
  auto old = std::make_unique<ReplyBudget::Part>(room, [&] { FAIL() << "it never waits"; });
  auto second = std::make_unique<ReplyBudget::Part>(room, [&] { ++resumed; });
  EXPECT_TRUE(old->may_grow());
  EXPECT_TRUE(second->may_grow());
  old->hold(60);
  second->hold(40);
  EXPECT_EQ(room.bytes(), 100U);
  EXPECT_TRUE(old->may_grow());
  EXPECT_FALSE(second->may_grow());
  old->hold(1000);  // one reply may be larger than the room
  EXPECT_EQ(resumed, 0);
  old.reset();
  EXPECT_EQ(resumed, 1);
  EXPECT_EQ(room.bytes(), 40U);
  EXPECT_TRUE(second->may_grow());
}

TEST(ReplyBudget, TheNextOldestGoesOnAlsoWhereThereIsNoRoomYet) {
  ReplyBudget room(10);
  std::vector<int> resumed;
  auto first = std::make_unique<ReplyBudget::Part>(room, [] {});
  auto second = std::make_unique<ReplyBudget::Part>(room, [&] { resumed.push_back(2); });
  auto third = std::make_unique<ReplyBudget::Part>(room, [&] { resumed.push_back(3); });
  second->hold(20);
  EXPECT_FALSE(third->may_grow());
  EXPECT_FALSE(second->may_grow());
  first.reset();
  EXPECT_EQ(resumed, std::vector<int>({2}));
  second.reset();
  EXPECT_EQ(resumed, std::vector<int>({2, 3}));
}

// Replies of any size in any order: all come to an end, and what is held stays within the room, the
// largest reply and a piece.
TEST(ReplyBudget, EveryReplyEndsAndTheBoundHolds) {
  constexpr size_t kRoom = 1000;
  constexpr size_t kPiece = 16;
  constexpr size_t kLargest = 700;
  Random random(11);
  for (int round = 0; round < 200; ++round) {
    ReplyBudget room(kRoom);
    struct Reply {
      size_t left = 0;
      size_t held = 0;
      bool paused = false;
      std::unique_ptr<ReplyBudget::Part> part;
    };
    std::vector<Reply> replies(40);
    for (Reply& reply : replies) {
      reply.left = 1 + random.below(kLargest);
      reply.part = std::make_unique<ReplyBudget::Part>(room, [&reply] { reply.paused = false; });
    }
    size_t steps = 0;
    while (!replies.empty()) {
      ASSERT_LT(++steps, 1'000'000U) << "nobody goes on";
      Reply& reply = replies[random.below(replies.size())];
      if (reply.paused) continue;
      if (!reply.part->may_grow()) {
        reply.paused = true;
        continue;
      }
      const size_t piece = std::min(reply.left, kPiece);
      reply.left -= piece;
      reply.held += piece;
      reply.part->hold(reply.held);
      ASSERT_LE(room.bytes(), kRoom + kLargest + kPiece);
      if (reply.left == 0 && reply.part) {
        reply.part.reset();
        reply.paused = true;
        if (std::ranges::all_of(replies, [](const Reply& it) { return !it.part; })) break;
      }
    }
    EXPECT_EQ(room.bytes(), 0U);
  }
}

}  // namespace
}  // namespace windrow::http
