// Thousands of open streams, half of them never read.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <charconv>
#include <memory>
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
using testing::RawClient;
using testing::status_of;
using Tcp = boost::asio::ip::tcp;

constexpr size_t kStreams = 2000;
constexpr size_t kPieceBytes = 4000;
constexpr size_t kBehindMax = 16'000;
constexpr int kRounds = 120;

// One stream, at the server. Pieces that its reader has no room for become one later piece.
struct Source {
  explicit Source(Exchange to) : exchange(std::move(to)) {}

  Exchange exchange;
  size_t waiting_pieces = 0;
  size_t pieces = 0;  // written, each with a number of those it stands for
};

class ServerManyStreamsTest : public testing::ServerRig {
 protected:
  // What one round writes to a stream: a line with how many pieces it stands for.
  static void write_round(Source& source) {
    ++source.waiting_pieces;
    if (source.exchange.unsent_bytes() > kBehindMax) return;
    std::string piece = fmt::format("data: {} ", source.waiting_pieces);
    piece.resize(kPieceBytes, '.');
    piece += "\n\n";
    source.exchange.write(std::move(piece));
    source.waiting_pieces = 0;
  }

  // Sum of the numbers in what a reader got.
  static size_t pieces_in(std::string_view body) {
    size_t pieces = 0;
    for (size_t at = body.find("data: "); at != std::string_view::npos;
         at = body.find("data: ", at + 1)) {
      size_t count = 0;
      std::from_chars(body.data() + at + 6, body.data() + body.size(), count);
      pieces += count;
    }
    return pieces;
  }
};

TEST_F(ServerManyStreamsTest, SlowReadersCostTheirShareAndNoTimeOfOthers) {
  // Two ends of each, and some for the test itself.
  rlimit files{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &files), 0);
  files.rlim_cur = files.rlim_max;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &files), 0);
  const size_t count = std::min<size_t>(kStreams, files.rlim_cur / 2 - 100);
  if (count < kStreams)
    RecordProperty("streams", fmt::format("{}: {} files are allowed", count, files.rlim_cur));
  open();

  boost::asio::io_context context;
  std::vector<Tcp::socket> readers;
  std::vector<std::unique_ptr<Source>> sources;
  const std::string request = get("/keep");
  for (size_t i = 0; i < count; ++i) {
    readers.emplace_back(context);
    readers.back().connect({boost::asio::ip::address_v4::loopback(), server_->port()});
    boost::asio::write(readers.back(), boost::asio::buffer(request));
    sources.push_back(std::make_unique<Source>(take_kept()));
  }
  EXPECT_EQ(server_->connections(), count);
  std::atomic<size_t> gone = 0;
  loop_.run([&] {
    for (const auto& source : sources) {
      source->exchange.on_disconnect([&] { ++gone; });
      source->exchange.start(200, {{"Content-Type", "text/event-stream"}});
    }
  });

  // Clients with an even number read, in any order, now and then; the others never.
  constexpr uint64_t kSeed = 4;
  SCOPED_TRACE("seed 4");
  Random random(kSeed);
  std::vector<std::string> got(count);
  std::vector<char> buffer(64 * 1024);
  const auto read_what_is_there = [&](size_t i) {
    readers[i].non_blocking(true);
    boost::system::error_code error;
    while (!error) {
      const size_t bytes = readers[i].read_some(boost::asio::buffer(buffer), error);
      got[i].append(buffer.data(), bytes);
    }
  };
  RawClient other = client();
  size_t unsent_most = 0;
  for (int round = 0; round < kRounds; ++round) {
    loop_.post([&] {
      size_t unsent = 0;
      for (const auto& source : sources) {
        write_round(*source);
        unsent += source->exchange.unsent_bytes();
      }
      unsent_most = std::max(unsent_most, unsent);
    });
    other.send(get("/prepared"));
    ASSERT_EQ(status_of(other.read_reply()), 200);
    for (size_t n = 0; n < count / 8; ++n)
      read_what_is_there(random.below(count / 2) * 2);
  }
  EXPECT_EQ(gone, 0U);
  // The deaf half is as far behind as it may be, and no further.
  EXPECT_GT(unsent_most, count / 2 * kBehindMax);
  EXPECT_LT(unsent_most, count * (kBehindMax + kPieceBytes + 100));

  // The readers get everything in the end.
  loop_.run([&] {
    for (size_t i = 0; i < count; i += 2) {
      Exchange& exchange = sources[i]->exchange;
      exchange.write(fmt::format("data: {}\n\n", sources[i]->waiting_pieces));
      exchange.finish();
    }
  });
  for (size_t i = 0; i < count; i += 2) {
    while (!got[i].ends_with("0\r\n\r\n"))
      read_what_is_there(i);
    ASSERT_EQ(pieces_in(got[i]), size_t{kRounds}) << i;
  }
  for (Tcp::socket& reader : readers)
    reader.close();
  other.close();
  wait_until([&] { return server_->connections() == 0; });
  EXPECT_EQ(gone, count / 2);
}

}  // namespace
}  // namespace windrow::http
