// The whole of a connection against random clients: requests in any pieces, pipelined, mutilated.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/random.h"
#include "http/server.h"
#include "http/testing/raw_client.h"
#include "http/testing/server_rig.h"

namespace windrow::http {
namespace {

using testing::body_of;
using testing::get;
using testing::post;
using testing::RawClient;
using testing::status_of;

struct Asked {
  std::string request;
  int status = 200;
  std::string body;
};

std::string text(Random& random, size_t bytes_max) {
  std::string text(random.below(bytes_max + 1), ' ');
  for (char& c : text)
    c = static_cast<char>(random.below(256));
  return text;
}

std::string in_chunks(Random& random, std::string_view body) {
  std::string chunks;
  while (!body.empty()) {
    const std::string_view chunk = body.substr(0, 1 + random.below(body.size()));
    chunks +=
        fmt::format("{:x}{}\r\n{}\r\n", chunk.size(), random.chance(0.2) ? ";a=b" : "", chunk);
    body.remove_prefix(chunk.size());
  }
  return chunks + "0\r\n" + (random.chance(0.2) ? "Trailer: t\r\n" : "") + "\r\n";
}

// What a client that knows HTTP may ask, and what it must get.
Asked ask(Random& random) {
  const std::string_view echo = random.chance(0.5) ? "/echo" : "/piecewise";
  switch (random.below(6)) {
    case 0: {
      const std::string body = text(random, random.chance(0.1) ? 100'000 : 200);
      return {.request = post(echo, body), .body = body};
    }
    case 1: {
      const std::string body = text(random, 2000);
      return {.request =
                  fmt::format("POST {} HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n{}",
                              echo, in_chunks(random, body)),
              .body = body};
    }
    case 2:
      return {.request = get("/prepared", fmt::format("X: {}\r\n", random.next())), .body = "{}"};
    case 3:
      return {.request = get("/nothing"), .status = 404, .body = "there is nothing at /nothing\n"};
    case 4:
      return {.request = post("/jobs/7", "abc"),
              .status = 405,
              .body = "/jobs/7 takes GET, HEAD, PATCH, not POST\n"};
    default:
      return {.request = "\r\n" + get("/jobs/" + fmt::format("{}", random.below(1000))),
              .body = ""};
  }
}

class ServerFuzzTest : public testing::ServerRig {
 protected:
  // Sends in random pieces, some of them seen by the server before the next is sent.
  void send_in_pieces(Random& random, RawClient& client, std::string_view bytes) {
    const size_t piece_max = random.chance(0.3) ? 5 : 1 + random.below(20'000);
    if (piece_max < 10) bytes = bytes.substr(0, std::min<size_t>(bytes.size(), 5'000));
    while (!bytes.empty()) {
      const std::string_view piece = bytes.substr(0, 1 + random.below(piece_max));
      if (!client.send(piece)) return;
      bytes.remove_prefix(piece.size());
      if (random.chance(0.1)) loop_.run([] {});
    }
  }
};

TEST_F(ServerFuzzTest, RequestsInAnyPiecesGetTheirAnswersInOrder) {
  open();
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Random random(seed);
    std::vector<Asked> asked;
    std::string bytes;
    for (size_t n = 1 + random.below(20); n > 0 && bytes.size() < 200'000; --n) {
      asked.push_back(ask(random));
      bytes += asked.back().request;
    }
    RawClient client = this->client();
    // Pieces of a byte only of what is short.
    const size_t piece_max = bytes.size() < 3000 && random.chance(0.5) ? 3 : 30'000;
    std::string_view rest = bytes;
    while (!rest.empty()) {
      const std::string_view piece = rest.substr(0, 1 + random.below(piece_max));
      ASSERT_TRUE(client.send(piece));
      rest.remove_prefix(piece.size());
    }
    for (const Asked& one : asked) {
      const std::string reply = client.read_reply();
      ASSERT_EQ(status_of(reply), one.status) << one.request;
      if (!one.body.empty()) {
        ASSERT_EQ(body_of(reply), one.body);
      }
    }
    EXPECT_EQ(server_->arriving(), 0U);
  }
}

// Bytes changed, lost, doubled: whatever comes of it, the server goes on, and counts nothing twice.
TEST_F(ServerFuzzTest, MutilatedRequestsDoNoHarm) {
  open({.request = {.head_bytes_max = 1000, .headers_max = 20, .body_bytes_max = 150'000}});
  size_t refused = 0;
  for (uint64_t seed = 1; seed <= 1500; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Random random(seed);
    std::string bytes;
    for (size_t n = 1 + random.below(4); n > 0; --n)
      bytes += ask(random).request;
    for (size_t n = 1 + random.below(4); n > 0; --n) {
      const size_t at = random.below(bytes.size());
      const size_t count = std::min(1 + random.below(10), bytes.size() - at);
      switch (random.below(4)) {
        case 0:
          bytes[at] = static_cast<char>(random.below(256));
          break;
        case 1:
          bytes.erase(at, count);
          break;
        case 2:
          bytes.insert(at, bytes.substr(at, count));
          break;
        default:
          bytes.insert(at, text(random, 20));
          break;
      }
      if (bytes.empty()) bytes = "\r\n";
    }
    RawClient client = this->client();
    send_in_pieces(random, client, bytes);
    if (random.chance(0.3)) {
      client.reset();
    } else {
      client.end_sending();
      const std::string replies = client.read_all();
      ASSERT_TRUE(replies.empty() || replies.starts_with("HTTP/1.1 ")) << replies;
      if (replies.find("Connection: close") != std::string::npos) ++refused;
    }
  }
  EXPECT_GT(refused, 100U);
  wait_until([&] {
    clock_.advance(std::chrono::seconds(10));
    return server_->connections() == 0;
  });
  EXPECT_EQ(server_->arriving(), 0U);
  RawClient last = client();
  last.send(get("/prepared"));
  EXPECT_EQ(status_of(last.read_reply()), 200);
}

}  // namespace
}  // namespace windrow::http
