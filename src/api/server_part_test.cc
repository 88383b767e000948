#include "api/server_part.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/testing/server_rig.h"
#include "base/testing/eventually.h"

namespace windrow::api {
namespace {

namespace json = boost::json;
using testing::get;
using ::testing::HasSubstr;
using testing::read_reply;
using testing::Reply;
using testing::ServerRig;

// What a test sees of a Bells, whose server owns it.
struct BellTower {
  // Answers the request that is held. Any thread.
  void release() {
    const std::scoped_lock lock(mutex);
    held->answer(http::ServerReply{.body = R"({"bell":"late"})"});
    held.reset();
  }

  bool holds() {
    const std::scoped_lock lock(mutex);
    return held.has_value();
  }

  std::mutex mutex;
  std::optional<PartRequest> held;
  std::optional<PartHost> host;
  std::atomic<int> rung = 0;
  std::atomic<int> stops = 0;
  std::atomic<bool> held_at_stop = false;
};

// A small part: GET /v1/bells/{id} is answered at once, and held if the id is "late".
class Bells final : public ServerPart {
 public:
  Bells(const PartHost& host, BellTower& tower) : host_(host), tower_(tower) {
    tower.host.emplace(host);
  }

  void add_routes(const Add& add) override {
    add("GET", "/v1/bells/{id}", [this](const http::ServerRequest& request, http::Exchange to) {
      std::optional<PartRequest> admitted = host_.admit(request, std::move(to), Access::kKey);
      if (!admitted) return;
      ++tower_.rung;
      const std::string_view id = request.parts.front();
      if (id == "late") {
        const std::scoped_lock lock(tower_.mutex);
        tower_.held.emplace(*std::move(admitted));
      } else if (id == "none") {
        admitted->answer(llm::Failure{.status = 404, .code = "no_bell", .message = "no bell"});
      } else {
        admitted->answer(http::ServerReply{.body = fmt::format(R"({{"bell":"{}"}})", id)});
      }
    });
  }

  void metrics(MetricsWriter& page) const override {
    page.family("test_bells_rung_total", "counter", "Bells that were rung.");
    page.sample({{"tower", "north"}}, int64_t{tower_.rung});
  }

  void add_requests(json::object& page, std::optional<std::string_view> key) const override {
    page["bells"] = json::object{{"rung", tower_.rung.load()}, {"key", key.value_or("all")}};
  }

  json::object openapi() const override {
    return json::parse(R"({
      "paths": {"/v1/bells/{id}": {"get": {
        "operationId": "ringBell",
        "parameters": [{"$ref": "#/components/parameters/Id"}],
        "responses": {"200": {"description": "Success.", "content": {"application/json":
          {"schema": {"$ref": "#/components/schemas/Bell"}}}}},
        "security": []}}},
      "components": {"schemas": {"Bell": {"type": "object"}}}})")
        .as_object();
  }

  void stop() override {
    ++tower_.stops;
    tower_.held_at_stop = tower_.holds();
  }

 private:
  const PartHost host_;
  BellTower& tower_;
};

ApiOptions with_bells(BellTower& tower) {
  ApiOptions options;
  options.parts.emplace_back(
      [&tower](const PartHost& host) { return std::make_unique<Bells>(host, tower); });
  return options;
}

TEST(ServerPart, ItsRoutesMetricsAndDescriptionAreTheServers) {
  BellTower tower;
  ServerRig rig(with_bells(tower));
  const Reply reply = rig.ask(get("/v1/bells/great"));
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.body, R"({"bell":"great"})");
  EXPECT_NE(reply.header("X-Request-Id"), "");
  EXPECT_THAT(rig.server->routes(), ::testing::Contains(::testing::Pair("GET", "/v1/bells/{id}")));
  EXPECT_EQ(rig.ask(get("/v1/files")).status, 404) << "that is another part";

  const std::string page = rig.ask(get("/metrics")).body;
  EXPECT_THAT(page, HasSubstr("# TYPE test_bells_rung_total counter\n"
                              "test_bells_rung_total{tower=\"north\"} 1\n"));
  EXPECT_THAT(page, HasSubstr("windrow_ready"));
  const json::value in_progress = rig.ask(get("/v1/windrow/requests")).json();
  EXPECT_EQ(in_progress.at("bells").at("rung"), 1);
  EXPECT_EQ(in_progress.at("object"), "list") << "beside what the server lists itself";

  const json::value document = rig.ask(get("/openapi.json")).json();
  const json::object& operation = document.at("paths").at("/v1/bells/{id}").at("get").as_object();
  EXPECT_EQ(operation.at("operationId"), "ringBell");
  EXPECT_FALSE(operation.contains("security")) << "this server demands no keys";
  EXPECT_TRUE(document.at("components").at("schemas").as_object().contains("Bell"));
  EXPECT_TRUE(document.at("paths").as_object().contains("/v1/chat/completions"));
}

TEST(ServerPart, ItsFailuresAreCounted) {
  BellTower tower;
  ServerRig rig(with_bells(tower));
  const Reply reply = rig.ask(get("/v1/bells/none"));
  EXPECT_EQ(reply.status, 404);
  EXPECT_EQ(reply.error().at("code"), "no_bell");
  EXPECT_THAT(rig.ask(get("/metrics")).body, HasSubstr("windrow_errors_total{code=\"no_bell\"} 1"));
}

TEST(ServerPart, ItsRequestsNeedAKeyAsOthersDo) {
  BellTower tower;
  ApiOptions options = with_bells(tower);
  options.keys = std::make_shared<KeyRingHolder>(
      *KeyRing::parse(fmt::format("alice sha256:{:064}", 0), "keys"));
  ServerRig rig(std::move(options));
  EXPECT_EQ(rig.ask(get("/v1/bells/great")).status, 401);
  EXPECT_EQ(tower.rung, 0);
}

TEST(ServerPart, NothingIsAcceptedWhileTheServerStops) {
  BellTower tower;
  ServerRig rig(with_bells(tower));
  rig.registry.set_state(ServeState::kStopping);
  const Reply reply = rig.ask(get("/v1/bells/great"));
  EXPECT_EQ(reply.status, 503);
  EXPECT_EQ(reply.error().at("code"), "server_stopping");
  EXPECT_EQ(tower.rung, 0);
}

TEST(ServerPart, IsStoppedAfterItsLastRequest) {
  BellTower tower;
  ServerRig rig(with_bells(tower));
  http::testing::RawClient client(rig.server->port());
  client.send(get("/v1/bells/late"));
  ASSERT_TRUE(windrow::testing::eventually([&] { return tower.holds(); }));
  const std::future<void> stopping =
      std::async(std::launch::async, [&] { rig.server->stop(std::chrono::seconds(60)); });
  EXPECT_TRUE(windrow::testing::eventually([&] {
    bool refuses = false;
    rig.loop.run([&] { refuses = tower.host->refusal().has_value(); });
    return refuses;
  }));
  EXPECT_EQ(tower.stops, 0) << "one request is in progress";
  tower.release();
  EXPECT_EQ(read_reply(client).body, R"({"bell":"late"})");
  stopping.wait();
  EXPECT_EQ(tower.stops, 1);
  EXPECT_FALSE(tower.held_at_stop);
}

}  // namespace
}  // namespace windrow::api
