#include "app/client_room.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

namespace windrow::app {
namespace {

using ::testing::HasSubstr;

TEST(ClientRoom, IsWhatWasAskedForWhereThereAreFilesEnough) {
  for (const uint64_t files : {uint64_t{8256}, uint64_t{1} << 20, UINT64_MAX}) {
    const ClientRoom room = room_for_clients(files, 8192, false, false);
    EXPECT_EQ(room.connections_max, 8192U) << files;
    EXPECT_EQ(room.warning, "") << files;
  }
}

TEST(ClientRoom, FollowsTheLimitAndSaysSo) {
  const ClientRoom room = room_for_clients(1024, 8192, false, false);
  EXPECT_EQ(room.connections_max, 960U);
  EXPECT_THAT(room.warning, HasSubstr("1024 files"));
  EXPECT_THAT(room.warning, HasSubstr("960 clients"));
  EXPECT_THAT(room.warning, HasSubstr("8256"));
}

TEST(ClientRoom, OfServersElsewhereEachClientNeedsTwo) {
  EXPECT_EQ(room_for_clients(1024, 8192, true, false).connections_max, 480U);
  EXPECT_EQ(room_for_clients(1024, 8192, true, false).requests_max, 480);
  EXPECT_EQ(room_for_clients(16'448, 8192, true, false).warning, "");
  EXPECT_EQ(room_for_clients(20'000, 8192, true, false).requests_max, 20'000 - 64 - 8192);
}

TEST(ClientRoom, KeepsSomeForFilesThatComeAndGo) {
  const ClientRoom room = room_for_clients(1024, 8192, false, true);
  EXPECT_EQ(room.transfers_max, 128);
  EXPECT_EQ(room.connections_max, 832U);
  EXPECT_THAT(room.warning, HasSubstr("8384"));
  EXPECT_EQ(room_for_clients(200, 8192, false, true).transfers_max, 34);
  EXPECT_EQ(room_for_clients(200, 8192, false, true).connections_max, 102U);
}

TEST(ClientRoom, LeavesSomeToTheProcessAndSomebodyCanAlwaysAsk) {
  for (uint64_t files = 0; files < 10'000; ++files) {
    for (const bool elsewhere : {false, true}) {
      const bool keeps_files = files % 2 == 0;
      const ClientRoom room = room_for_clients(files, 8192, elsewhere, keeps_files);
      ASSERT_GE(room.connections_max, 1U) << files;
      ASSERT_GE(room.transfers_max, 1) << files;
      ASSERT_LE(room.transfers_max, 128) << files;
      const uint64_t transfers =
          keeps_files && files >= 8 ? static_cast<uint64_t>(room.transfers_max) : 0;
      const uint64_t left = std::min<uint64_t>(files / 2, 64) + transfers;
      if (files >= 4) {
        ASSERT_LE(room.connections_max * (elsewhere ? 2 : 1) + left, files);
        if (elsewhere) {
          ASSERT_LE(room.connections_max + static_cast<size_t>(room.requests_max) + left, files);
        }
      }
      ASSERT_EQ(room.warning.empty(), room.connections_max == 8192U) << files;
    }
  }
}

}  // namespace
}  // namespace windrow::app
