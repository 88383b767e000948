// Answers that clients do not take: what they hold of the server's memory together is bounded.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "http/server.h"
#include "http/testing/raw_client.h"
#include "http/testing/server_rig.h"

namespace windrow::http {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::body_of;
using testing::get;
using ::testing::HasSubstr;
using testing::RawClient;
using testing::status_of;

class ServerUnsentTest : public testing::ServerRig {
 protected:
  static constexpr size_t kBytesMax = 8'000'000;
  static constexpr size_t kAnswerBytes = 3'000'000;

  // Much more than the systems of both sides hold of it.
  void answer(RawClient& client, size_t bytes = kAnswerBytes) {
    client.send(get("/keep"));
    take_kept().send({.body = std::string(bytes, 'x')});
    loop_.run([] {});
  }

  ServerOptions options() {
    return {.unsent_bytes_of_all_max = kBytesMax, .on_slow_reader = [this](const SlowReader& one) {
              dropped_.push_back(one.unsent_bytes);
              EXPECT_EQ(one.peer, "127.0.0.1");
              EXPECT_GE(one.quiet, seconds(1));
            }};
  }

  std::vector<size_t> dropped_;
};

TEST_F(ServerUnsentTest, SixClientsThatNeverReadHoldNoMoreThanTheBound) {
  open(options());
  std::vector<std::unique_ptr<RawClient>> clients;
  for (int i = 0; i < 6; ++i) {
    clients.push_back(std::make_unique<RawClient>(server_->port()));
    answer(*clients.back());
    EXPECT_LE(server_->unsent_bytes(), kBytesMax) << i;
  }
  EXPECT_GT(server_->unsent_bytes(), kBytesMax / 2);
  // Answers without room became a 503, and their connections were not cut off.
  const std::string refused = clients.back()->read_reply();
  EXPECT_EQ(status_of(refused), 503);
  EXPECT_THAT(refused, HasSubstr("Retry-After: 2\r\n"));
  EXPECT_THAT(body_of(refused), HasSubstr("ask again in a few seconds, and for less at once"));
  EXPECT_EQ(server_->slow_readers_dropped(), 0);

  // A client that takes nothing for a second makes room for others.
  clock_.advance(milliseconds(1001));
  RawClient reader = client();
  answer(reader);
  EXPECT_EQ(body_of(reader.read_reply()).size(), kAnswerBytes);
  EXPECT_EQ(server_->slow_readers_dropped(), 1);
  ASSERT_EQ(dropped_.size(), 1U);
  EXPECT_GT(dropped_.front(), kAnswerBytes / 2);
  const bool first_is_whole = body_of(clients.at(0)->read_reply()).size() == kAnswerBytes;
  const bool second_is_whole = body_of(clients.at(1)->read_reply()).size() == kAnswerBytes;
  EXPECT_NE(first_is_whole, second_is_whole);
  EXPECT_NE(clients.at(0)->was_reset(), clients.at(1)->was_reset());
}

TEST_F(ServerUnsentTest, WhatIsTakenOrGivenUpMakesRoomAgain) {
  open(options());
  for (int i = 0; i < 4; ++i) {
    RawClient reader = client();
    answer(reader, kBytesMax);
    EXPECT_GT(server_->unsent_bytes(), kBytesMax / 2);
    if (i % 2 == 0) {
      EXPECT_EQ(body_of(reader.read_reply()).size(), kBytesMax);
    } else {
      reader.reset();
    }
    wait_until([&] { return server_->unsent_bytes() == 0; });
  }
  RawClient reader = client();
  answer(reader, kBytesMax + 1);
  EXPECT_EQ(status_of(reader.read_reply()), 503);
}

TEST_F(ServerUnsentTest, AFullServerAnswersWhatIsSmallAndItsStreamsGoOn) {
  open(options());
  RawClient reader = client();
  reader.send(get("/keep"));
  Exchange stream = take_kept();
  stream.start(200, {});
  RawClient silent = client();
  answer(silent, kBytesMax);
  RawClient other = client();
  answer(other, 400'000);
  EXPECT_EQ(status_of(other.read_reply()), 503);
  other.send(get("/prepared"));
  EXPECT_EQ(body_of(other.read_reply()), "{}");
  bool has_room = true;
  loop_.run([&] { has_room = stream.make_room(400'000); });
  EXPECT_FALSE(has_room);
  stream.write("data: 1\n\n");
  stream.finish();
  EXPECT_THAT(reader.read_reply(), HasSubstr("data: 1\n\n"));
  EXPECT_EQ(server_->slow_readers_dropped(), 0);
}

}  // namespace
}  // namespace windrow::http
