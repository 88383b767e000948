// Replies whose taker pauses them, over real sockets.
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <string>

#include "http/curl_client.h"
#include "http/testing/call_rig.h"
#include "http/testing/test_server.h"

namespace windrow::http {
namespace {

using testing::call;
using testing::failure_of;
using testing::get_from;
using testing::PendingCall;
using testing::reply_of;
using testing::TestReply;
using testing::TestRequest;
using testing::TestServer;
using testing::text_of_bytes;

constexpr size_t kBytes = size_t{4} << 20;

class ClientPausedTest : public ::testing::Test {
 protected:
  // A request whose taker pauses after each piece.
  ClientRequest paused_request(const std::string& target = "/") {
    ClientRequest request = get_from(server_.url(target));
    request.takes_more = [this] { return ready_.load(); };
    request.on_data = [this](const ReplyHead&, std::string_view piece) {
      if (!ready_.exchange(false)) ++uninvited_;
      taken_ += piece;
      if (!began_) {
        began_ = true;
        begun_.set_value();
      }
      if (goes_on_by_itself_) go_on();
      return true;
    };
    return request;
  }

  void go_on() {
    ready_ = true;
    client_->resume(id_);
  }

  const SystemClock clock_;
  TestServer server_{[](const TestRequest& request) {
    return TestReply{.status = request.target == "/bad" ? 500 : 200,
                     .body = text_of_bytes(kBytes),
                     .framing = TestReply::Framing::kChunked};
  }};
  Loop loop_{clock_};
  std::unique_ptr<Client> client_ = std::make_unique<CurlClient>(loop_, ClientOptions{});
  CallId id_;
  std::atomic<bool> ready_ = true;
  std::atomic<bool> goes_on_by_itself_ = false;
  std::atomic<int> uninvited_ = 0;
  bool began_ = false;  // the loop's
  std::string taken_;   // the loop's, until the call has ended
  std::promise<void> begun_;
};

TEST_F(ClientPausedTest, NothingComesUntilItIsWantedAndThenAllOfIt) {
  std::promise<ClientResult> ended;
  id_ = client_->send(paused_request(),
                      [&](ClientResult result) { ended.set_value(std::move(result)); });
  begun_.get_future().wait();
  // Another call goes on meanwhile, and this one stands still.
  EXPECT_EQ(reply_of(call(*client_, get_from(server_.url("/other")))).body.size(), kBytes);
  size_t taken = 0;
  loop_.run([&] { taken = taken_.size(); });
  EXPECT_LT(taken, kBytes / 4);
  goes_on_by_itself_ = true;
  go_on();
  EXPECT_EQ(reply_of(ended.get_future().get()).body, "");
  EXPECT_EQ(taken_, text_of_bytes(kBytes));
  EXPECT_EQ(uninvited_, 0);
}

TEST_F(ClientPausedTest, APausedCallCanBeCancelledAndEndsWithTheClient) {
  for (const bool cancels : {true, false}) {
    began_ = false;
    begun_ = {};
    ready_ = true;
    auto pending = std::make_unique<PendingCall>(*client_, paused_request());
    begun_.get_future().wait();
    if (cancels) {
      pending->cancel();
    } else {
      client_.reset();
    }
    EXPECT_EQ(failure_of(pending->result()).kind, FailureKind::kCancelled);
  }
}

TEST_F(ClientPausedTest, ResumingWhatIsNotPausedDoesNothing) {
  client_->resume(CallId(12345));
  ClientRequest request = get_from(server_.url());
  std::string text;
  request.on_data = [&](const ReplyHead&, std::string_view piece) {
    client_->resume(CallId(1));
    text += piece;
    return true;
  };
  reply_of(call(*client_, std::move(request)));
  EXPECT_EQ(text, text_of_bytes(kBytes));
}

TEST_F(ClientPausedTest, WhatIsTakenAndWhatIsCollectedHaveLimitsOfTheirOwn) {
  ClientRequest request = get_from(server_.url());
  size_t taken = 0;
  request.on_data = [&](const ReplyHead&, std::string_view piece) {
    taken += piece.size();
    return true;
  };
  request.limits.reply_bytes_max = 1000;
  request.limits.taken_bytes_max = kBytes;
  reply_of(call(*client_, request));
  EXPECT_EQ(taken, kBytes);
  request.url = server_.url("/bad");
  EXPECT_EQ(failure_of(call(*client_, request)).kind, FailureKind::kTooLarge);
  request.url = server_.url();
  request.limits.taken_bytes_max = kBytes - 1;
  EXPECT_EQ(failure_of(call(*client_, request)).kind, FailureKind::kTooLarge);
  // Without a limit of their own it is the same for both.
  request.limits.taken_bytes_max.reset();
  EXPECT_EQ(failure_of(call(*client_, request)).kind, FailureKind::kTooLarge);
}

}  // namespace
}  // namespace windrow::http
