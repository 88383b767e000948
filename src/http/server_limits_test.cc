// Every limit of a server, each by a client that goes a little beyond it and one that does not.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <latch>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "http/server.h"
#include "http/server_limits.h"
#include "http/testing/raw_client.h"
#include "http/testing/server_rig.h"

namespace windrow::http {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::body_of;
using testing::get;
using ::testing::HasSubstr;
using testing::post;
using testing::RawClient;
using testing::status_of;

constexpr std::string_view kChunkedHead =
    "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";

TEST(IdleAllowed, IsLessTheFullerTheServerIs) {
  EXPECT_EQ(idle_allowed(seconds(75), 0, 1000), seconds(75));
  EXPECT_EQ(idle_allowed(seconds(75), 749, 1000), seconds(75));
  EXPECT_EQ(idle_allowed(seconds(75), 875, 1000), seconds(38));
  EXPECT_EQ(idle_allowed(seconds(75), 1000, 1000), seconds(1));
  EXPECT_EQ(idle_allowed(seconds(75), 1001, 1000), seconds(1));
  for (size_t connections = 1; connections <= 1000; ++connections) {
    EXPECT_LE(idle_allowed(seconds(75), connections, 1000),
              idle_allowed(seconds(75), connections - 1, 1000));
  }
}

TEST(IdleAllowed, IsNeverMoreThanWasAskedFor) {
  EXPECT_EQ(idle_allowed(milliseconds(300), 10, 10), milliseconds(300));
  EXPECT_EQ(idle_allowed(seconds(75), 1, 1), seconds(1));
}

TEST(BodyPatience, IsForAPauseOfTheClientNotOfTheHandler) {
  const TimePoint start{seconds(1000)};
  BodyPatience patience;
  EXPECT_FALSE(patience.is_over(start + seconds(1000), seconds(30))) << "no piece is waited for";
  patience.wait_begins(start);
  EXPECT_FALSE(patience.is_over(start + seconds(30), seconds(30)));
  EXPECT_TRUE(patience.is_over(start + seconds(31), seconds(30)));
  patience.came(start + seconds(20), 1'000'000);
  EXPECT_FALSE(patience.is_over(start + seconds(5000), seconds(30)));
  patience.wait_begins(start + seconds(5000));
  EXPECT_FALSE(patience.is_over(start + seconds(5030), seconds(30)));
  EXPECT_TRUE(patience.is_over(start + seconds(5031), seconds(30))) << "however much came before";
}

TEST(BodyPatience, EndsForAClientThatSendsAByteNowAndThen) {
  TimePoint now{seconds(1000)};
  BodyPatience drops;
  BodyPatience slow;
  int drops_end = 0;
  for (int i = 1; i <= 1000; ++i) {
    drops.wait_begins(now);
    slow.wait_begins(now);
    now += seconds(10);
    if (drops_end == 0 && drops.is_over(now, seconds(30))) drops_end = i;
    ASSERT_FALSE(slow.is_over(now, seconds(30))) << i;
    drops.came(now, 1);
    slow.came(now, 10 * kSlowestBodyPerS);
  }
  EXPECT_EQ(drops_end, 4);
}

TEST(LingeringClose, IsOverWhenTheClientIsSilentOrSendsTooLong) {
  const TimePoint start{seconds(1000)};
  LingeringClose linger;
  EXPECT_FALSE(linger.begun());
  linger.begin(start);
  EXPECT_TRUE(linger.begun());
  EXPECT_FALSE(linger.is_over(start + seconds(2), seconds(30)));
  EXPECT_TRUE(linger.is_over(start + milliseconds(2001), seconds(30)));
  linger.heard(start + seconds(29));
  EXPECT_FALSE(linger.is_over(start + seconds(30), seconds(30)));
  EXPECT_TRUE(linger.is_over(start + milliseconds(30'001), seconds(30)));
}

TEST(UnsentBudget, HasRoomUpToItsBound) {
  UnsentBudget budget(1000);
  EXPECT_TRUE(budget.has_room(1000));
  EXPECT_FALSE(budget.has_room(1001));
  EXPECT_FALSE(budget.has_room(std::numeric_limits<size_t>::max()));
  budget.count(400);
  EXPECT_TRUE(budget.has_room(600));
  EXPECT_FALSE(budget.has_room(601));
  budget.count(900);  // small answers are not refused
  EXPECT_TRUE(budget.is_full());
  EXPECT_FALSE(budget.has_room(1));
  budget.count(-1300);
  EXPECT_EQ(budget.bytes(), 0U);
  EXPECT_TRUE(budget.has_room(1000));
}

TEST(UnsentBudget, TheLargestSlowReaderIsDropped) {
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

class ServerLimitsTest : public testing::ServerRig {
 protected:
  int answer_to(std::string_view request) {
    RawClient client = this->client();
    client.send(request);
    return status_of(client.read_reply());
  }

  // A request that has begun and goes no further: its 408 tells that the server has looked at its
  // deadlines.
  void wait_for_a_look() {
    RawClient begun = client();
    begun.send("G");
    wait_until([&] { return server_->arriving() > 0; });
    clock_.advance(seconds(31));
    EXPECT_EQ(status_of(begun.read_all()), 408);
  }
};

// --- bytes --------------------------------------------------------------------------------------

TEST_F(ServerLimitsTest, BytesOfTheHead) {
  open({.request = {.head_bytes_max = 1000}});
  EXPECT_EQ(answer_to(get("/prepared", "X: " + std::string(900, 'x') + "\r\n")), 200);
  EXPECT_EQ(answer_to(get("/prepared", "X: " + std::string(1000, 'x') + "\r\n")), 431);
  EXPECT_EQ(answer_to(get("/" + std::string(1000, 'x'))), 431);
  // However it comes.
  RawClient client = this->client();
  client.send("GET /prepared HTTP/1.1\r\nHost: x\r\n");
  for (int i = 0; i < 30; ++i) {
    client.send(fmt::format("X-{}: {}\r\n", i, std::string(40, 'x')));
    loop_.run([] {});
  }
  EXPECT_EQ(status_of(client.read_reply()), 431);
}

TEST_F(ServerLimitsTest, CountOfHeaders) {
  open({.request = {.headers_max = 5}});
  EXPECT_EQ(answer_to(get("/prepared", "A: 1\r\nB: 1\r\nC: 1\r\nD: 1\r\n")), 200);
  EXPECT_EQ(answer_to(get("/prepared", "A: 1\r\nB: 1\r\nC: 1\r\nD: 1\r\nE: 1\r\n")), 431);
}

TEST_F(ServerLimitsTest, BytesOfTheBody) {
  open({.request = {.body_bytes_max = 1000}});
  EXPECT_EQ(answer_to(post("/echo", std::string(1000, 'x'))), 200);
  EXPECT_EQ(answer_to(post("/echo", std::string(1001, 'x'))), 413);
  const std::string chunk = fmt::format("1f4\r\n{}\r\n", std::string(500, 'x'));
  EXPECT_EQ(answer_to(std::string(kChunkedHead) + chunk + chunk + "0\r\n\r\n"), 200);
  EXPECT_EQ(answer_to(std::string(kChunkedHead) + chunk + chunk + "1\r\nx\r\n0\r\n\r\n"), 413);
  // One that never ends is refused when it has gone too far, not when it ends.
  EXPECT_EQ(answer_to(std::string(kChunkedHead) + chunk + chunk + "1\r\nx"), 413);
}

TEST_F(ServerLimitsTest, AFalseLengthOfTheBodyIsHarmless) {
  open({.request = {.body_bytes_max = 1000}});
  // More than comes: the request never ends.
  RawClient more = client();
  more.send("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 20\r\n\r\nhello");
  wait_until([&] { return server_->arriving() == 1; });
  clock_.advance(seconds(31));
  EXPECT_EQ(status_of(more.read_all()), 408);
  // Less: what follows is no request.
  RawClient less = client();
  less.send("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhello and more\r\n\r\n");
  EXPECT_EQ(body_of(less.read_reply()), "he");
  EXPECT_EQ(status_of(less.read_all()), 400);
  // More than there are bytes in the world, or a length that is none.
  for (const char* length : {"99999999999999999999", "9223372036854775807", "-1", "5x", ""}) {
    const int status = answer_to(
        fmt::format("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\nhello", length));
    EXPECT_TRUE(status == 400 || status == 413) << length << ": " << status;
  }
}

TEST_F(ServerLimitsTest, AnExpectingClientIsRefusedBeforeTheBody) {
  open({.request = {.body_bytes_max = 1000}});
  const auto asking = [&](std::string_view line, std::string_view length) {
    RawClient client = this->client();
    client.send(
        fmt::format("{} HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n{}\r\n\r\n", line, length));
    return client.read_reply();
  };
  EXPECT_EQ(asking("POST /echo", "Content-Length: 5"), "HTTP/1.1 100 Continue\r\n\r\n");
  EXPECT_EQ(status_of(asking("POST /echo", "Content-Length: 1001")), 413);
  EXPECT_EQ(status_of(asking("POST /nothing", "Content-Length: 5")), 404);
  const std::string wrong = asking("POST /prepared", "Transfer-Encoding: chunked");
  EXPECT_EQ(status_of(wrong), 405);
  EXPECT_THAT(wrong, HasSubstr("Allow: GET, HEAD\r\n"));
}

TEST_F(ServerLimitsTest, BodiesOfAllClientsTogether) {
  open({.arriving_bytes_max = 100'000});
  std::vector<std::unique_ptr<RawClient>> clients;
  const std::string head = "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 30000\r\n\r\n";
  for (size_t i = 0; i < 4; ++i) {
    clients.push_back(std::make_unique<RawClient>(server_->port()));
    clients.back()->send(head + std::string(24'000, 'x'));
    wait_until([&] { return server_->arriving() == i + 1; });
  }
  // There is room for a small one, not for one more of these.
  EXPECT_EQ(answer_to(post("/echo", "hello")), 200);
  RawClient fifth = client();
  fifth.send(head + std::string(24'000, 'x'));
  const std::string refusal = fifth.read_all();
  EXPECT_EQ(status_of(refusal), 503);
  EXPECT_THAT(refusal, HasSubstr("Retry-After: 2\r\n"));
  // Complete, vanished or refused requests do not count any more.
  clients[0]->send(std::string(6'000, 'x'));
  EXPECT_EQ(status_of(clients[0]->read_reply()), 200);
  clients[1]->reset();
  wait_until([&] { return server_->arriving() == 2; });
  RawClient sixth = client();
  sixth.send(head + std::string(24'000, 'x'));
  wait_until([&] { return server_->arriving() == 3; });
  sixth.send(std::string(6'000, 'x'));
  EXPECT_EQ(status_of(sixth.read_reply()), 200);
}

TEST_F(ServerLimitsTest, CompressedBodiesAreRefusedWithWhatToDo) {
  open();
  for (const char* coding : {"gzip", "br", "deflate", "zstd", "gzip, gzip"}) {
    RawClient client = this->client();
    client.send(post("/echo", "\x1f\x8b", fmt::format("Content-Encoding: {}\r\n", coding)));
    const std::string reply = client.read_all();
    EXPECT_EQ(status_of(reply), 415) << coding;
    EXPECT_THAT(body_of(reply), HasSubstr("without Content-Encoding")) << coding;
  }
  EXPECT_EQ(answer_to(post("/echo", "hello", "Content-Encoding: identity\r\n")), 200);
}

// --- time ---------------------------------------------------------------------------------------

TEST_F(ServerLimitsTest, TimeOfARequestHoweverSlowlyItComes) {
  open();
  for (const std::string_view beginning :
       {std::string_view("GET /prepared HTTP/1.1\r\nHost: x\r\nX: "),
        std::string_view("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n"),
        kChunkedHead}) {
    RawClient slow = client();
    slow.send(beginning);
    wait_until([&] { return server_->arriving() == 1; });
    for (int i = 0; i < 3; ++i) {
      clock_.advance(seconds(9));
      slow.send("1");
      loop_.run([] {});
      EXPECT_EQ(server_->arriving(), 1U);
    }
    clock_.advance(seconds(4));
    EXPECT_EQ(status_of(slow.read_all()), 408) << beginning;
  }
}

TEST_F(ServerLimitsTest, TimeOfRest) {
  open();
  RawClient resting = client();
  resting.send(get("/prepared"));
  EXPECT_EQ(status_of(resting.read_reply()), 200);
  RawClient silent = client();
  wait_until([&] { return server_->connections() == 2; });
  wait_for_a_look();
  clock_.advance(seconds(10));
  wait_for_a_look();  // 72 s
  wait_until([&] { return server_->connections() == 2; });
  resting.send(get("/prepared"));
  EXPECT_EQ(status_of(resting.read_reply()), 200);
  clock_.advance(seconds(4));
  EXPECT_EQ(silent.read_all(), "");
  wait_until([&] { return server_->connections() == 1; });
  clock_.advance(seconds(72));
  EXPECT_EQ(resting.read_all(), "");
}

TEST_F(ServerLimitsTest, TimeWithoutAByteTaken) {
  open();
  RawClient client = this->client();
  client.send(get("/keep"));
  Exchange exchange = take_kept();
  std::latch gone(1);
  exchange.on_disconnect([&] { gone.count_down(); });
  exchange.start(200, {});
  exchange.write(std::string(20'000'000, 'x'));
  loop_.run([] {});
  clock_.advance(seconds(25));
  EXPECT_FALSE(gone.try_wait());
  // It takes some, and has all the time again.
  size_t before = 0;
  loop_.run([&] { before = exchange.unsent_bytes(); });
  wait_until([&] {
    client.read_some();
    return exchange.unsent_bytes() < before;
  });
  clock_.advance(seconds(25));
  loop_.run([] {});
  EXPECT_FALSE(gone.try_wait());
  // The system may have passed some on only now; from then on it is the same time again.
  wait_until([&] {
    clock_.advance(seconds(6));
    loop_.run([] {});
    return gone.try_wait();
  });
  client.read_all();
  EXPECT_TRUE(client.was_reset());
}

// --- connections --------------------------------------------------------------------------------

TEST_F(ServerLimitsTest, SilentClientsDoNotLockOthersOut) {
  open({.connections_max = 4});
  std::vector<std::unique_ptr<RawClient>> silent;
  for (size_t i = 0; i < 4; ++i) {
    silent.push_back(std::make_unique<RawClient>(server_->port()));
    wait_until([&] { return server_->connections() == i + 1; });
  }
  RawClient waiting = client();
  waiting.send(get("/prepared"));
  loop_.run([] {});
  EXPECT_EQ(server_->connections(), 4U);
  clock_.advance(milliseconds(1100));
  EXPECT_EQ(status_of(waiting.read_reply()), 200);
}

TEST_F(ServerLimitsTest, AClientThatWaitsForAnAnswerIsNotIdle) {
  open({.connections_max = 2});
  RawClient busy = client();
  busy.send(get("/keep"));
  Exchange exchange = take_kept();
  RawClient silent = client();
  wait_until([&] { return server_->connections() == 2; });
  RawClient waiting = client();
  waiting.send(get("/prepared"));
  clock_.advance(milliseconds(1100));
  EXPECT_EQ(status_of(waiting.read_reply()), 200);
  EXPECT_EQ(silent.read_all(), "");
  exchange.send({.body = "at last"});
  EXPECT_EQ(body_of(busy.read_reply()), "at last");
}

}  // namespace
}  // namespace windrow::http
