// Calls of a Client against a real server: requests, replies, streams, many at once, cancelled
// ones. Failures are in client_failures_test.cc.
#include "http/client.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/sockios.h>
#include <poll.h>
#include <sys/ioctl.h>

#include <atomic>
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/streambuf.hpp>
#include <boost/asio/write.hpp>
#include <future>
#include <latch>
#include <ostream>
#include <thread>
#include <vector>

#include "base/random.h"
#include "http/curl_client.h"
#include "http/testing/call_rig.h"
#include "http/testing/test_server.h"

namespace windrow::http {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::call;
using testing::failure_of;
using testing::get_from;
using ::testing::Not;
using testing::PendingCall;
using testing::post_to;
using testing::reply_of;
using testing::TestReply;
using testing::TestRequest;
using testing::TestServer;
using testing::text_of_bytes;

// Answers "first" on its first connection; then, at send_unasked(), sends a reply there that no
// request asked for. A second connection gets "second".
class UnaskedServer {
 public:
  Url url() const { return {.host = "127.0.0.1", .port = acceptor_.local_endpoint().port()}; }

  // Returns when the bytes are in the client's socket: it has said that it has them.
  void send_unasked() {
    wanted_.count_down();
    sent_.wait();
  }

 private:
  using Socket = boost::asio::ip::tcp::socket;

  static void answer(Socket& socket, std::string_view body) {
    boost::asio::streambuf request;
    boost::asio::read_until(socket, request, "\r\n\r\n");
    boost::asio::write(socket, boost::asio::buffer(reply_with(body)));
  }

  static std::string reply_with(std::string_view body) {
    return fmt::format("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{}", body.size(), body);
  }

  static int unacknowledged(Socket& socket) {
    int bytes = 0;
    ioctl(socket.native_handle(), SIOCOUTQ, &bytes);
    return bytes;
  }

  void serve() {
    Socket first = acceptor_.accept();
    answer(first, "first");
    wanted_.wait();
    boost::asio::write(first, boost::asio::buffer(reply_with("unasked")));
    while (unacknowledged(first) > 0)
      std::this_thread::yield();
    sent_.count_down();
    // A client that takes the old connection again has its answer already.
    pollfd again{.fd = first.native_handle(), .events = POLLIN, .revents = 0};
    poll(&again, 1, -1);
    boost::system::error_code error;
    if (first.available(error) > 0) return;
    Socket second = acceptor_.accept();
    answer(second, "second");
  }

  boost::asio::io_context context_;
  boost::asio::ip::tcp::acceptor acceptor_{context_, {boost::asio::ip::address_v4::loopback(), 0}};
  std::latch wanted_{1};
  std::latch sent_{1};
  std::jthread thread_{[this] { serve(); }};
};

class ClientTest : public ::testing::Test {
 protected:
  Client& client() { return *client_; }
  Loop& loop() { return loop_; }
  void end_client() { client_.reset(); }

 private:
  SystemClock clock_;
  Loop loop_{clock_};
  std::unique_ptr<Client> client_ = std::make_unique<CurlClient>(loop_, ClientOptions{});
};

TEST_F(ClientTest, SendsARequestAndGivesItsReply) {
  TestRequest seen;
  TestServer server([&](const TestRequest& request) {
    seen = request;
    return TestReply{.status = 201, .headers = {{"X-A", "1"}, {"x-a", "2"}}, .body = "fine"};
  });
  ClientRequest request = post_to(server.url("/v1/x?y=z"), R"({"a":1})");
  request.headers.add("Authorization", "Bearer k");
  request.headers.add("X-Empty", "");
  const ClientReply reply = reply_of(call(client(), std::move(request)));
  EXPECT_EQ(reply.head.status, 201);
  EXPECT_EQ(reply.head.version, HttpVersion::k1_1);
  EXPECT_EQ(reply.body, "fine");
  EXPECT_EQ(reply.head.headers.get("X-A"), "1");
  EXPECT_EQ(reply.head.headers[1], (Headers::Field{"x-a", "2"}));
  EXPECT_FALSE(reply.via_proxy);
  EXPECT_GT(reply.first_byte, Duration::zero());
  EXPECT_GE(reply.total, reply.first_byte);

  EXPECT_EQ(seen.method, "POST");
  EXPECT_EQ(seen.target, "/v1/x?y=z");
  EXPECT_EQ(seen.body, R"({"a":1})");
  EXPECT_EQ(seen.headers.get("Authorization"), "Bearer k");
  EXPECT_EQ(seen.headers.get("Content-Type"), "application/json");
  EXPECT_EQ(seen.headers.get("X-Empty"), "");
  EXPECT_EQ(seen.headers.get("Host"), authority(server.url()));
  EXPECT_EQ(seen.headers.get("Content-Length"), "7");
  EXPECT_EQ(seen.headers.get("User-Agent"), "windrow");
  EXPECT_FALSE(seen.headers.has("Expect"));
}

TEST_F(ClientTest, EveryMethodArrivesAsItIs) {
  TestServer server([](const TestRequest& request) {
    return TestReply{.headers = {{"X-Method", request.method}}, .body = request.body};
  });
  for (const Method method : {Method::kGet, Method::kHead, Method::kPost, Method::kPut,
                              Method::kPatch, Method::kDelete}) {
    ClientRequest request = get_from(server.url());
    request.method = method;
    const ClientReply reply = reply_of(call(client(), request));
    EXPECT_EQ(reply.head.headers.get("X-Method"), to_string(method));
    EXPECT_EQ(reply.body, "");
    if (method == Method::kHead) continue;
    request.body = std::make_shared<const std::string>("abc");
    const ClientReply with_body = reply_of(call(client(), request));
    EXPECT_EQ(with_body.head.headers.get("X-Method"), to_string(method));
    EXPECT_EQ(with_body.body, "abc");
  }
  EXPECT_EQ(server.connections(), 1);
}

TEST_F(ClientTest, AnErrorStatusIsAReplyToo) {
  TestServer server([](const TestRequest&) {
    return TestReply{.status = 429, .headers = {{"Retry-After", "7"}}, .body = "slow down"};
  });
  const ClientReply reply = reply_of(call(client(), get_from(server.url())));
  EXPECT_EQ(reply.head.status, 429);
  EXPECT_EQ(reply.head.headers.get("retry-after"), "7");
  EXPECT_EQ(reply.body, "slow down");
}

TEST_F(ClientTest, BodiesOfEverySizeAndFramingArriveWhole) {
  TestServer server([](const TestRequest& request) {
    const size_t bytes = std::stoul(request.target.substr(2));
    const char kind = request.target[1];
    return TestReply{.body = text_of_bytes(bytes),
                     .framing = kind == 'c'   ? TestReply::Framing::kChunked
                                : kind == 'e' ? TestReply::Framing::kClose
                                              : TestReply::Framing::kLength,
                     .piece_bytes = bytes < 10'000 ? size_t{7} : size_t{0}};
  });
  for (const std::string kind : {"l", "c", "e"}) {
    for (const size_t bytes : {0UL, 1UL, 999UL, 1000UL, 1001UL, 70'000UL, 3'000'000UL}) {
      SCOPED_TRACE(kind + std::to_string(bytes));
      const std::string target = "/" + kind + std::to_string(bytes);
      const ClientReply reply = reply_of(call(client(), get_from(server.url(target))));
      EXPECT_EQ(reply.body.size(), bytes);
      EXPECT_EQ(reply.body, text_of_bytes(bytes));
    }
  }
}

TEST_F(ClientTest, ARepliesWithoutABodyEndAtOnce) {
  TestServer server([](const TestRequest& request) {
    if (request.target == "/204") {
      return TestReply{.body = "HTTP/1.1 204 No Content\r\n\r\n",
                       .framing = TestReply::Framing::kRaw};
    }
    return TestReply{.body = "HTTP/1.1 304 Not Modified\r\nContent-Length: 10\r\n\r\n",
                     .framing = TestReply::Framing::kRaw};
  });
  EXPECT_EQ(reply_of(call(client(), get_from(server.url("/204")))).head.status, 204);
  EXPECT_EQ(reply_of(call(client(), get_from(server.url("/304")))).head.status, 304);
}

TEST_F(ClientTest, AnInterimReplyIsNotTheReply) {
  TestServer server([](const TestRequest&) {
    return TestReply{.body =
                         "HTTP/1.1 100 Continue\r\nX-Early: 1\r\n\r\n"
                         "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
                     .framing = TestReply::Framing::kRaw};
  });
  const ClientReply reply = reply_of(call(client(), get_from(server.url())));
  EXPECT_EQ(reply.head.status, 200);
  EXPECT_EQ(reply.body, "ok");
  EXPECT_FALSE(reply.head.headers.has("X-Early"));
}

TEST_F(ClientTest, ALargeRequestArrivesWhole) {
  TestServer server([](const TestRequest& request) { return TestReply{.body = request.body}; });
  const std::string text = text_of_bytes(8'000'000);
  EXPECT_EQ(reply_of(call(client(), post_to(server.url(), text))).body, text);
}

TEST_F(ClientTest, AConnectionIsUsedAgainUnlessItWasClosed) {
  TestServer server([](const TestRequest& request) {
    return TestReply{.end = request.target == "/close" ? TestReply::End::kClose
                                                       : TestReply::End::kKeep};
  });
  for (int i = 0; i < 5; ++i)
    reply_of(call(client(), get_from(server.url())));
  EXPECT_EQ(server.connections(), 1);
  reply_of(call(client(), get_from(server.url("/close"))));
  reply_of(call(client(), get_from(server.url())));
  EXPECT_EQ(server.connections(), 2);
}

TEST_F(ClientTest, AConnectionThatDiedWhileIdleCostsNoCall) {
  // The server says nothing of it, and closes.
  std::atomic<int> count = 0;
  TestServer server([&](const TestRequest&) {
    return TestReply{.body = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
                     .framing = TestReply::Framing::kRaw,
                     .end = ++count % 2 == 1 ? TestReply::End::kClose : TestReply::End::kKeep};
  });
  for (int i = 0; i < 20; ++i)
    EXPECT_EQ(reply_of(call(client(), post_to(server.url(), "x"))).body, "ok");
}

TEST_F(ClientTest, PiecesComeAsTheServerSendsThem) {
  // The reply stands still after its first chunk: a client that collects would wait for ever.
  std::promise<void> first_seen;
  TestServer server([&](const TestRequest&) {
    return TestReply{.body = "data: 1\n\ndata: 2\n\n",
                     .framing = TestReply::Framing::kChunked,
                     .chunk_bytes = 9,
                     .bytes_max = 67,  // of the head 53, of the first chunk 14
                     .end = TestReply::End::kStall};
  });
  ClientRequest request = get_from(server.url());
  std::string pieces;
  request.on_data = [&](const ReplyHead& head, std::string_view piece) {
    EXPECT_EQ(head.status, 200);
    pieces += piece;
    if (pieces.find("data: 1\n\n") != std::string::npos) {
      first_seen.set_value();
      return false;
    }
    return true;
  };
  PendingCall pending(client(), std::move(request));
  first_seen.get_future().wait();
  const ClientFailure failure = failure_of(pending.result());
  EXPECT_EQ(failure.kind, FailureKind::kCancelled);
  EXPECT_TRUE(failure.sent);
}

TEST_F(ClientTest, OnDataTakesTheWholeBodyButNotThatOfAnError) {
  TestServer server([&](const TestRequest& request) {
    return TestReply{.status = request.target == "/bad" ? 400 : 200,
                     .body = text_of_bytes(100'000),
                     .framing = TestReply::Framing::kChunked};
  });
  ClientRequest request = get_from(server.url());
  std::string pieces;
  request.on_data = [&](const ReplyHead&, std::string_view piece) {
    pieces += piece;
    return true;
  };
  EXPECT_EQ(reply_of(call(client(), request)).body, "");
  EXPECT_EQ(pieces, text_of_bytes(100'000));
  pieces.clear();
  request.url = server.url("/bad");
  EXPECT_EQ(reply_of(call(client(), request)).body, text_of_bytes(100'000));
  EXPECT_EQ(pieces, "");
}

// --- many, cancelled, ended ---------------------------------------------------------------------

TEST_F(ClientTest, ManyThreadsGetTheirOwnAnswers) {
  TestServer server([](const TestRequest& request) {
    return TestReply{.body = request.target + " " + request.body};
  });
  constexpr int kThreads = 4;
  constexpr int kPerThread = 500;
  std::atomic<int> wrong = 0;
  std::latch done(kThreads * kPerThread);
  {
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < kThreads; ++thread) {
      threads.emplace_back([&, thread] {
        for (int i = 0; i < kPerThread; ++i) {
          const std::string name = std::to_string(thread) + "-" + std::to_string(i);
          client().send(post_to(server.url("/" + name), "b" + name),
                        [&, name](ClientResult result) {
                          const auto* reply = std::get_if<ClientReply>(&result);
                          if (reply == nullptr || reply->body != "/" + name + " b" + name) ++wrong;
                          done.count_down();
                        });
        }
      });
    }
  }
  done.wait();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(server.requests(), kThreads * kPerThread);
}

TEST_F(ClientTest, DoneMaySendAgain) {
  TestServer server([](const TestRequest&) { return TestReply{.body = "ok"}; });
  std::latch done(1);
  int left = 100;
  std::function<void(ClientResult)> again = [&](ClientResult result) {
    EXPECT_TRUE(std::holds_alternative<ClientReply>(result));
    if (--left == 0) {
      done.count_down();
    } else {
      client().send(get_from(server.url()), again);
    }
  };
  client().send(get_from(server.url()), again);
  done.wait();
  EXPECT_EQ(server.connections(), 1);
}

// Bytes that a server, or a box in between, sends without being asked arrive on an idle connection,
// and the next request finds them there before its own reply.
TEST_F(ClientTest, StrayBytesAreNoReply) {
  UnaskedServer server;
  std::promise<std::string> second;
  client().send(get_from(server.url()), [&](ClientResult result) {
    EXPECT_EQ(std::get<ClientReply>(result).body, "first");
    // The loop is in here: it cannot see what comes meanwhile.
    server.send_unasked();
    client().send(get_from(server.url()),
                  [&](ClientResult other) { second.set_value(reply_of(std::move(other)).body); });
  });
  EXPECT_EQ(second.get_future().get(), "second");
}

TEST_F(ClientTest, ACancelledCallEndsOnceAndLeavesOthersAlone) {
  TestServer server([](const TestRequest& request) {
    if (request.target == "/stall") return TestReply{.bytes_max = 0, .end = TestReply::End::kStall};
    return TestReply{.body = "ok"};
  });
  PendingCall stalled(client(), get_from(server.url("/stall")));
  PendingCall other(client(), get_from(server.url()));
  EXPECT_EQ(reply_of(other.result()).body, "ok");
  stalled.cancel();
  EXPECT_EQ(failure_of(stalled.result()).kind, FailureKind::kCancelled);
  stalled.cancel();  // is over already
  other.cancel();
  EXPECT_EQ(reply_of(call(client(), get_from(server.url()))).body, "ok");
}

TEST_F(ClientTest, TheEndOfTheClientEndsEveryCall) {
  TestServer server(
      [](const TestRequest&) { return TestReply{.bytes_max = 0, .end = TestReply::End::kStall}; });
  std::atomic<int> cancelled = 0;
  for (int i = 0; i < 50; ++i) {
    client().send(get_from(server.url()), [&](ClientResult result) {
      EXPECT_EQ(std::get<ClientFailure>(result).kind, FailureKind::kCancelled);
      ++cancelled;
    });
  }
  end_client();
  EXPECT_EQ(cancelled, 50);
}

// Whatever happens to calls, each ends exactly once and a reply is the one that was asked for.
TEST_F(ClientTest, RandomFaultsAndCancelsLoseNoCallAndMixNone) {
  const uint64_t seed = 20261121;
  SCOPED_TRACE("seed " + std::to_string(seed));
  const auto reply_to = [&](uint64_t number) {
    Random random(seed + number);
    TestReply reply{.body = fmt::format("/{}", number) + std::string(random.below(3000), '.')};
    reply.framing = random.chance(0.5) ? TestReply::Framing::kChunked : TestReply::Framing::kLength;
    reply.chunk_bytes = 1 + random.below(500);
    if (random.chance(0.3)) reply.piece_bytes = 100 + random.below(300);
    if (random.chance(0.2)) {
      reply.bytes_max = random.below(500);
      constexpr TestReply::End kEnds[] = {TestReply::End::kClose, TestReply::End::kReset,
                                          TestReply::End::kStall};
      reply.end = kEnds[random.below(3)];
      // Behind a whole reply the next call of the connection would wait for its own.
      if (reply.bytes_max >= reply.body.size()) reply.end = TestReply::End::kClose;
    }
    return reply;
  };
  TestServer server(
      [&](const TestRequest& request) { return reply_to(std::stoull(request.target.substr(1))); });
  constexpr int kCalls = 1500;
  std::vector<std::atomic<int>> ends(kCalls);
  std::atomic<int> mixed = 0;
  std::atomic<int> answered = 0;
  std::latch done(kCalls);
  Random random(seed);
  std::vector<CallId> ids;
  for (size_t i = 0; i < kCalls; ++i) {
    const std::string target = "/" + std::to_string(i);
    ClientRequest request = post_to(server.url(target), "x");
    // Only a stalled call may reach a limit, however slow the machine is.
    const bool stalls = reply_to(i).end == TestReply::End::kStall;
    request.limits.idle = stalls ? Duration(milliseconds(500)) : Duration(seconds(100));
    request.limits.total = seconds(100);
    ids.push_back(client().send(std::move(request), [&, i, target](ClientResult result) {
      if (const auto* reply = std::get_if<ClientReply>(&result)) {
        ++answered;
        if (reply->body.substr(0, reply->body.find('.')) != target) ++mixed;
      }
      ++ends[i];
      done.count_down();
    }));
    if (random.chance(0.1)) client().cancel(ids[random.below(ids.size())]);
    // Some come in bursts, some alone.
    if (random.chance(0.1)) loop().run([] {});
  }
  done.wait();
  EXPECT_EQ(mixed, 0);
  EXPECT_GT(answered, kCalls / 2);
  for (const std::atomic<int>& count : ends)
    ASSERT_EQ(count, 1);
}

// An upstream by its name: where the first address refuses, the next one is tried.
TEST_F(ClientTest, TriesEveryAddressOfAName) {
  TestServer server([](const TestRequest& request) { return TestReply{.body = request.target}; });
  Url url = server.url("/x");
  url.host = "localhost";
  EXPECT_EQ(reply_of(call(client(), get_from(url))).body, "/x");
}

}  // namespace
}  // namespace windrow::http
