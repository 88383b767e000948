#include "llm/answer_room.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

namespace windrow::llm {
namespace {

constexpr size_t kBlock = AnswerShare::kBlockBytes;

TEST(AnswerRoom, IsGivenOutUpToItsBound) {
  AnswerRoom room(1000);
  EXPECT_TRUE(room.take(600));
  EXPECT_FALSE(room.take(401));
  EXPECT_EQ(room.bytes(), 600U);
  EXPECT_EQ(room.refused(), 1);
  EXPECT_TRUE(room.take(400));
  room.give_back(1000);
  EXPECT_EQ(room.bytes(), 0U);
}

TEST(AnswerRoom, AShareTakesBlocksAndGivesThemBack) {
  const auto room = std::make_shared<AnswerRoom>(4 * kBlock);
  {
    AnswerShare share(room);
    EXPECT_EQ(room->bytes(), 0U);
    for (size_t i = 0; i < kBlock; ++i)
      ASSERT_TRUE(share.grow(1));
    EXPECT_EQ(room->bytes(), kBlock);
    EXPECT_TRUE(share.grow(1));
    EXPECT_EQ(room->bytes(), 2 * kBlock);
    EXPECT_TRUE(share.grow_to(10));  // it has more
    EXPECT_EQ(room->bytes(), 2 * kBlock);
    EXPECT_TRUE(share.grow_to(3 * kBlock));
    EXPECT_FALSE(share.grow(kBlock + 1));
    EXPECT_EQ(room->bytes(), 3 * kBlock);
    AnswerShare other(room);
    EXPECT_TRUE(other.grow(kBlock));
    EXPECT_FALSE(other.grow(1));
    share.shrink(kBlock);
    EXPECT_TRUE(other.grow(1));
    share.shrink_to(1);
    EXPECT_EQ(room->bytes(), 3 * kBlock);
    share.shrink(kBlock);
    EXPECT_EQ(room->bytes(), 2 * kBlock);
  }
  EXPECT_EQ(room->bytes(), 0U);
  EXPECT_EQ(room->refused(), 2);
}

TEST(AnswerRoom, ManyThreadsLoseNothingOfIt) {
  const auto room = std::make_shared<AnswerRoom>(8 * kBlock);
  {
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < 4; ++thread) {
      threads.emplace_back([&] {
        for (int i = 0; i < 300; ++i) {
          AnswerShare share(room);
          for (int part = 0; part < 4; ++part)
            (void)share.grow(kBlock - 1);
          share.shrink(kBlock);
        }
      });
    }
  }
  EXPECT_EQ(room->bytes(), 0U);
}

TEST(AnswerRoom, TheFailureWithoutRoomSaysWhatToDo) {
  const Failure failure = no_room_for_answer();
  EXPECT_EQ(failure.status, 503);
  EXPECT_TRUE(failure.retry_after_ms);
  EXPECT_NE(failure.message.find("ask for less at once"), std::string::npos);
}

}  // namespace
}  // namespace windrow::llm
