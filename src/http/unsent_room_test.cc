#include "http/unsent_room.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace windrow::http {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(UnsentRoom, HasRoomUpToItsBound) {
  UnsentRoom room(1000);
  EXPECT_TRUE(room.has_room(1000));
  EXPECT_FALSE(room.has_room(1001));
  EXPECT_FALSE(room.has_room(std::numeric_limits<size_t>::max()));
  room.count(400);
  EXPECT_TRUE(room.has_room(600));
  EXPECT_FALSE(room.has_room(601));
  room.count(900);  // small answers are not refused
  EXPECT_TRUE(room.is_full());
  EXPECT_FALSE(room.has_room(1));
  room.count(-1300);
  EXPECT_EQ(room.bytes(), 0U);
  EXPECT_TRUE(room.has_room(1000));
}

TEST(UnsentRoom, TheLargestOfThoseThatTakeNothingIsDropped) {
  const std::vector<UnsentOf> connections = {{.bytes = 900, .quiet = milliseconds(999)},
                                             {.bytes = 10, .quiet = seconds(20)},
                                             {.bytes = 500, .quiet = seconds(1)},
                                             {.bytes = 0, .quiet = seconds(100)},
                                             {.bytes = 400, .quiet = seconds(9)}};
  EXPECT_EQ(slowest_reader(connections), 2U);
  EXPECT_EQ(slowest_reader(std::span(connections).first(1)), std::nullopt);
  EXPECT_EQ(slowest_reader(std::span(connections).subspan(3, 1)), std::nullopt);
  EXPECT_EQ(slowest_reader({}), std::nullopt);
}

}  // namespace
}  // namespace windrow::http
