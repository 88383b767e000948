#include "upstream/ask_upstream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "base/clock.h"
#include "http/curl_client.h"
#include "http/loop.h"
#include "http/testing/test_server.h"

namespace windrow::upstream {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::IsEmpty;
using testing::Optional;

TEST(ModelsReply, ReadsIds) {
  EXPECT_THAT(models_of(R"({"object":"list","data":[{"id":"a","x":1},{"id":"b:8b"}]})"),
              Optional(ElementsAre("a", "b:8b")));
  EXPECT_THAT(models_of(R"({"data":[]})"), Optional(IsEmpty()));
  EXPECT_THAT(models_of(R"({"data":[5,{"id":7},{"id":"a"}]})"), Optional(ElementsAre("a")));
}

TEST(ModelsReply, OtherTextsAreNoList) {
  for (const char* text : {"", "<html>", "[]", "{}", R"({"data":5})", R"({"data":[)"}) {
    EXPECT_EQ(models_of(text), std::nullopt) << text;
  }
}

TEST(ModelsReply, NamesTwentyAtMost) {
  EXPECT_EQ(models_text({}), "it has no models");
  EXPECT_EQ(models_text({"a", "b"}), "it has a, b");
  EXPECT_THAT(models_text(std::vector<std::string>(25, "m")), EndsWith("m and 5 more"));
}

TEST(ModelsReply, ATagMayBeLeftOut) {
  const std::vector<std::string> models = {"llama3:latest", "qwen3:4b"};
  EXPECT_TRUE(has_model(models, "llama3"));
  EXPECT_TRUE(has_model(models, "llama3:latest"));
  EXPECT_TRUE(has_model(models, "qwen3:4b"));
  EXPECT_FALSE(has_model(models, "qwen3"));
  EXPECT_FALSE(has_model({}, "qwen3"));
}

using http::testing::TestReply;
using http::testing::TestRequest;
using http::testing::TestServer;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;

class AskUpstream : public ::testing::Test {
 protected:
  // What is said of a server that answers like this; "" when nothing is wrong.
  std::string told(TestReply reply, const std::string& key = "") {
    {
      const std::scoped_lock lock(mutex_);
      reply_ = std::move(reply);
      asked_.clear();
    }
    UpstreamOptions options;
    options.base = server_.url("/v1");
    options.api_key = key;
    const Result<UpstreamFacts> facts = ask_upstream(*client_, options);
    facts_ = facts ? *facts : UpstreamFacts{};
    return facts ? "" : facts.error().message;
  }

  std::string asked() {
    const std::scoped_lock lock(mutex_);
    return asked_;
  }

  std::string place() const { return http::to_string(server_.url("/v1/models")); }

  SystemClock clock_;
  http::Loop loop_{clock_};
  std::unique_ptr<http::Client> client_ =
      std::make_unique<http::CurlClient>(loop_, http::ClientOptions{});
  std::mutex mutex_;
  TestReply reply_;
  std::string asked_;
  UpstreamFacts facts_;
  TestServer server_{[this](const TestRequest& request) {
    const std::scoped_lock lock(mutex_);
    asked_ += request.method + " " + request.target + "\n";
    return reply_;
  }};
};

TEST_F(AskUpstream, AServerSaysItsModels) {
  EXPECT_EQ(told({.body = R"({"data":[{"id":"a"},{"id":"b"}]})"}), "");
  ASSERT_TRUE(facts_.models.has_value());
  EXPECT_THAT(*facts_.models, ElementsAre("a", "b"));
  EXPECT_EQ(asked(), "GET /v1/models\n");
}

TEST_F(AskUpstream, NotEveryServerHasThatRoute) {
  EXPECT_EQ(told({.status = 404, .body = "{}"}), "");
  EXPECT_FALSE(facts_.models.has_value());
}

TEST_F(AskUpstream, ARedirectIsNotFollowedAndSaysWhatToWrite) {
  for (const int32_t status : {301, 302, 303, 307, 308}) {
    EXPECT_EQ(told({.status = status, .headers = {{"Location", "https://new.host/v1/models"}}}),
              place() +
                  " says that it has moved to https://new.host/v1/models; requests are not "
                  "sent after it, so write --upstream https://new.host/v1");
    EXPECT_EQ(asked(), "GET /v1/models\n") << status;
  }
  const std::string origin = place().substr(0, place().find("/v1"));
  EXPECT_THAT(told({.status = 307, .headers = {{"Location", "/api/v1/models"}}}),
              EndsWith("so write --upstream " + origin + "/api/v1"));
  EXPECT_THAT(told({.status = 302, .headers = {{"Location", "https://sso/login?to=x"}}}),
              EndsWith("moved to https://sso/login?to=x; requests are not sent after it, so write "
                       "the URL of the server itself"));
  EXPECT_THAT(told({.status = 302}), HasSubstr("moved to another address; "));
}

TEST_F(AskUpstream, AKeyThatIsMissingIsNotOneThatIsWrong) {
  EXPECT_THAT(told({.status = 401}), HasSubstr("wants a key"));
  EXPECT_THAT(told({.status = 401}, "sk-1"), HasSubstr("refuses the key"));
  EXPECT_THAT(told({.status = 407}), HasSubstr("a proxy in front of"));
}

TEST_F(AskUpstream, AWebPageIsNoServer) {
  EXPECT_THAT(told({.headers = {{"Content-Type", "text/html"}}, .body = "<html></html>"}),
              HasSubstr("its base URL usually ends with /v1"));
}

}  // namespace
}  // namespace windrow::upstream
