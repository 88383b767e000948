// Large replies to clients that have little room for them, over real sockets.
#include <gtest/gtest.h>

#include <algorithm>
#include <latch>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <variant>
#include <vector>

#include "http/curl_client.h"
#include "http/reply_budget.h"
#include "http/testing/call_rig.h"
#include "http/testing/test_server.h"

namespace windrow::http {
namespace {

using testing::call;
using testing::get_from;
using testing::PendingCall;
using testing::reply_of;
using testing::TestReply;
using testing::TestRequest;
using testing::TestServer;

constexpr size_t kReplies = 24;
constexpr size_t kReplyBytes = size_t{2} << 20;

// What a client takes at once of each.
constexpr size_t kPieceBytes = size_t{64} << 10;

std::string body_of(const std::string& target) {
  return std::string(kReplyBytes, static_cast<char>('a' + std::stoi(target.substr(1))));
}

struct RoomKind {
  const char* name;
  TestReply::Framing framing;

  friend void PrintTo(const RoomKind& kind, std::ostream* out) { *out << kind.name; }
};

class ReplyBudgetClientTest : public ::testing::TestWithParam<RoomKind> {
 protected:
  std::unique_ptr<Client> client_with(ReplyBudget& room) {
    return std::make_unique<CurlClient>(
        loop_, ClientOptions{.proxies = {}, .ca_file = "", .reply_budget = &room});
  }

  ClientRequest request(size_t number) const {
    return get_from(server_.url("/" + std::to_string(number)));
  }

  SystemClock clock_;
  TestServer server_{[](const TestRequest& request) {
    return TestReply{.body = body_of(request.target), .framing = GetParam().framing};
  }};
  Loop loop_{clock_};
};

TEST_P(ReplyBudgetClientTest, AllRepliesComeAndFewLieInMemory) {
  constexpr size_t kRoom = 2 * kReplyBytes;
  ReplyBudget room(kRoom);
  const std::unique_ptr<Client> client = client_with(room);
  std::latch ended(kReplies);
  size_t most = 0;  // the loop's
  std::vector<std::string> wrong;
  for (size_t i = 0; i < kReplies; ++i) {
    client->send(request(i), [&, i](ClientResult result) {
      most = std::max(most, room.bytes());
      if (reply_of(std::move(result)).body != body_of("/" + std::to_string(i)))
        wrong.push_back(std::to_string(i));
      ended.count_down();
    });
  }
  ended.wait();
  EXPECT_TRUE(wrong.empty()) << wrong.front();
  EXPECT_LE(most, kRoom + kReplyBytes + kReplies * kPieceBytes) << "of " << kReplies * kReplyBytes;
  loop_.run([&] { EXPECT_EQ(room.bytes(), 0U); });
}

// Also where nothing fits, one after the other.
TEST_P(ReplyBudgetClientTest, ARoomThatIsTooSmallForOneIsEnoughForAll) {
  ReplyBudget room(1);
  const std::unique_ptr<Client> client = client_with(room);
  std::vector<std::unique_ptr<PendingCall>> calls;
  for (size_t i = 0; i < kReplies; ++i)
    calls.push_back(std::make_unique<PendingCall>(*client, request(i)));
  for (size_t i = 0; i < kReplies; ++i)
    EXPECT_EQ(reply_of(calls[i]->result()).body.size(), kReplyBytes);
}

TEST_P(ReplyBudgetClientTest, CallsThatWaitForRoomCanBeCancelledAndEndWithTheClient) {
  ReplyBudget room(1);
  std::unique_ptr<Client> client = client_with(room);
  std::vector<std::unique_ptr<PendingCall>> calls;
  for (size_t i = 0; i < kReplies; ++i)
    calls.push_back(std::make_unique<PendingCall>(*client, request(i)));
  EXPECT_EQ(reply_of(calls.front()->result()).body.size(), kReplyBytes);
  for (size_t i = 1; i < kReplies; i += 2)
    calls[i]->cancel();
  for (size_t i = 1; i < kReplies; i += 2)
    calls[i]->result();
  client.reset();
  for (size_t i = 2; i < kReplies; i += 2)
    calls[i]->result();
  EXPECT_EQ(room.bytes(), 0U);
}

INSTANTIATE_TEST_SUITE_P(All, ReplyBudgetClientTest,
                         ::testing::Values(RoomKind{"length", TestReply::Framing::kLength},
                                           RoomKind{"chunked", TestReply::Framing::kChunked}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace windrow::http
