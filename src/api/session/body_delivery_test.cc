#include "api/session/body_delivery.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <boost/json/object.hpp>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "api/testing/server_rig.h"
#include "async/executor.h"
#include "base/testing/eventually.h"
#include "http/testing/raw_client.h"

namespace windrow::api {
namespace {

using testing::get;
using testing::Reply;
using testing::ServerRig;
using windrow::testing::eventually;

constexpr uint64_t kWhole = uint64_t{32} << 20;

// What a test sees of the sources of a server.
struct SourceLog {
  std::atomic<uint64_t> made = 0;  // bytes
  std::atomic<int> alive = 0;
};

struct SourceShape {
  uint64_t bytes = 0;
  bool knows_size = true;
  uint64_t fails_at = UINT64_MAX;
};

// A body of letters, each piece of another one.
class Letters final : public session::BodySource {
 public:
  Letters(SourceShape shape, SourceLog& log) : shape_(shape), log_(log) { ++log_.alive; }
  ~Letters() override { --log_.alive; }

  std::optional<uint64_t> size() const override {
    return shape_.knows_size ? std::optional(shape_.bytes) : std::nullopt;
  }

  bool next(size_t bytes_wanted, std::string& bytes) override {
    if (made_ >= shape_.fails_at) throw std::bad_alloc();
    if (made_ == shape_.bytes) return false;
    const auto count = static_cast<size_t>(std::min<uint64_t>(bytes_wanted, shape_.bytes - made_));
    bytes.append(count, static_cast<char>('a' + pieces_++ % 26));
    made_ += count;
    log_.made += count;
    return true;
  }

 private:
  const SourceShape shape_;
  SourceLog& log_;
  uint64_t made_ = 0;
  int pieces_ = 0;
};

// A part with one page that is sent by a BodyDelivery.
class LetterPart final : public ServerPart {
 public:
  LetterPart(const PartHost& host, SourceShape shape, SourceLog& log)
      : host_(host), shape_(shape), log_(log), workers_(1) {}

  void add_routes(const Add& add) override {
    add("GET", "/letters", [this](const http::ServerRequest& request, http::Exchange to) {
      std::optional<PartRequest> admitted = host_.admit(request, std::move(to), Access::kOpen);
      if (!admitted) return;
      auto accepted = std::make_shared<SessionRequest>(*std::move(admitted), request);
      workers_.post([this, accepted = std::move(accepted)] {
        BodyDelivery::start(accepted, std::make_unique<Letters>(shape_, log_), "text/plain",
                            workers_);
      });
    });
  }
  void metrics(MetricsWriter&) const override {}
  boost::json::object openapi() const override {
    return {{"paths", boost::json::object()}, {"components", boost::json::object()}};
  }
  void stop() override { workers_.stop(); }

 private:
  const PartHost host_;
  const SourceShape shape_;
  SourceLog& log_;
  async::Executor workers_;
};

class BodyDeliveryTest : public ::testing::Test {
 protected:
  void open(SourceShape shape) {
    ApiOptions options;
    options.parts.emplace_back([this, shape](const PartHost& host) {
      return std::make_unique<LetterPart>(host, shape, log_);
    });
    rig_ = std::make_unique<ServerRig>(std::move(options));
  }

  SourceLog log_;
  std::unique_ptr<ServerRig> rig_;
};

TEST_F(BodyDeliveryTest, SendsTheWholeInPieces) {
  open({.bytes = kWhole});
  const Reply reply = rig_->ask(get("/letters"));
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.header("Content-Type"), "text/plain");
  EXPECT_EQ(reply.header("Content-Length"), std::to_string(kWhole));
  EXPECT_EQ(reply.body.size(), kWhole);
  EXPECT_EQ(log_.made, kWhole);
  EXPECT_EQ(reply.body.front(), 'a');
  EXPECT_EQ(reply.body[size_t{256} << 10], 'b');
}

TEST_F(BodyDeliveryTest, SendsWhatHasNoKnownSizeInChunks) {
  open({.bytes = 600'000, .knows_size = false});
  const Reply reply = rig_->ask(get("/letters"));
  EXPECT_EQ(reply.header("Transfer-Encoding"), "chunked");
  EXPECT_EQ(reply.body.size(), 600'000U);
}

TEST_F(BodyDeliveryTest, AnEmptyBodyIsOneToo) {
  open({.bytes = 0});
  const Reply reply = rig_->ask(get("/letters"));
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.header("Content-Length"), "0");
}

TEST_F(BodyDeliveryTest, HeadMakesNothing) {
  open({.bytes = kWhole});
  http::testing::RawClient client(rig_->server->port());
  client.send("HEAD /letters HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  const std::string reply = client.read_all();
  EXPECT_THAT(reply, ::testing::HasSubstr("Content-Length: " + std::to_string(kWhole)));
  EXPECT_EQ(log_.made, 0U);
}

// A client that reads nothing holds some pieces and no thread: the only worker serves another.
TEST_F(BodyDeliveryTest, ASlowClientHoldsNoThreadAndLittleMemory) {
  open({.bytes = kWhole});
  http::testing::RawClient slow(rig_->server->port());
  slow.send(get("/letters"));
  EXPECT_TRUE(eventually([&] { return log_.made > 0; }));
  EXPECT_EQ(rig_->ask(get("/letters")).body.size(), kWhole);
  const uint64_t made_for_slow = log_.made - kWhole;
  EXPECT_LT(made_for_slow, kWhole / 2) << "its buffers and two pieces";
  EXPECT_EQ(testing::read_reply(slow).body.size(), kWhole);
}

TEST_F(BodyDeliveryTest, AClientThatLeavesEndsIt) {
  open({.bytes = kWhole});
  {
    http::testing::RawClient client(rig_->server->port());
    client.send(get("/letters"));
    EXPECT_TRUE(eventually([&] { return log_.made > 0; }));
  }
  EXPECT_TRUE(eventually([&] { return log_.alive == 0; }));
  EXPECT_LT(log_.made, kWhole);
}

TEST_F(BodyDeliveryTest, AFailureInTheMiddleBreaksTheAnswerOff) {
  open({.bytes = kWhole, .fails_at = 600'000});
  http::testing::RawClient client(rig_->server->port());
  client.send(get("/letters"));
  EXPECT_LT(client.read_all().size(), kWhole);
  EXPECT_TRUE(eventually([&] { return log_.alive == 0; }));
}

}  // namespace
}  // namespace windrow::api
