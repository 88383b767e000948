// The watch behind the fleet of a server, whose upstream is a real server on a socket.
#include "fleet/tokenizer_watch.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "fleet/load_tokenizer.h"
#include "fleet/upstream_fleet.h"
#include "http/testing/test_server.h"
#include "llm/raw_body.h"
#include "store/testing/memory_disk.h"
#include "upstream/upstream_backend.h"

namespace windrow::fleet {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr std::string_view kText = "the house is old";

class Warnings final : public FleetEvents {
 public:
  void note(const std::string&) override {}
  void warn(const std::string& text) override {
    const std::scoped_lock lock(mutex_);
    list_.push_back(text);
  }
  void packed_call_sent(const std::string&, const dispatch::SentBatch&) override {}

  std::vector<std::string> list() const {
    const std::scoped_lock lock(mutex_);
    return list_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> list_;
};

// A server with the model "chat", which says of every prompt that it has these ids.
class TokenizerWatchTest : public ::testing::Test {
 protected:
  TokenizerWatchTest() {
    UpstreamFleetOptions options;
    options.choices.push_back(
        {.server = {
             .base =
                 http::parse_url(fmt::format("http://127.0.0.1:{}/v1", server_.port())).value()}});
    options.tokenizers.push_back({.name = "chat", .path = "sim:"});
    fleet_ = std::make_unique<UpstreamServerFleet>(std::move(options), disk_, clock_, warnings_);
    const Result<void> opened = fleet_->open({});
    EXPECT_TRUE(opened.has_value()) << opened.error().message;
  }

  http::testing::TestReply reply_to(const http::testing::TestRequest& request) {
    http::testing::TestReply reply{.status = 200};
    reply.headers.add("Content-Type", "application/json");
    if (request.method == "GET") {
      reply.body = R"({"object":"list","data":[{"id":"chat","object":"model"}]})";
    } else if (request.target.ends_with("/chat/completions")) {
      reply.body = fmt::format(
          R"({{"choices":[{{"index":0,"message":{{"role":"assistant","content":"yes"}},)"
          R"("finish_reason":"stop"}}],"prompt_token_ids":[{}]}})",
          told());
    } else {
      reply.body = fmt::format(R"({{"choices":[{{"index":0,"text":"yes","finish_reason":"stop",)"
                               R"("prompt_token_ids":[{}]}}]}})",
                               told());
    }
    return reply;
  }

  // Returns when the answer is there.
  void ask(llm::Endpoint endpoint, const std::string& body) {
    const auto answered = std::make_shared<std::promise<bool>>();
    llm::Request request =
        llm::raw_request(endpoint, body, boost::json::parse(body).as_object(), {});
    ASSERT_TRUE(model().dispatcher->submit(
        std::move(request), [answered](const dispatch::DispatchResult& result) {
          answered->set_value(std::holds_alternative<llm::Answer>(result.outcome));
        }));
    EXPECT_TRUE(answered->get_future().get());
  }
  void ask(std::string_view members = R"("return_token_ids":true)") {
    ask(llm::Endpoint::kCompletions,
        fmt::format(R"({{"model":"chat","prompt":"{}",{}}})", kText, members));
  }
  void ask_chat() {
    ask(llm::Endpoint::kChatCompletions,
        fmt::format(R"({{"model":"chat","return_token_ids":true,)"
                    R"("messages":[{{"role":"user","content":"{}"}}]}})",
                    kText));
  }

  FleetModel model() { return fleet_->models().at(0); }

  void tell(std::vector<int32_t> ids) {
    const std::scoped_lock lock(mutex_);
    told_ = std::move(ids);
  }
  std::string told() {
    const std::scoped_lock lock(mutex_);
    return fmt::format("{}", fmt::join(told_, ","));
  }

  static std::vector<int32_t> right() {
    return load_tokenizer(nullptr, {.path = "sim:"}, 0)
        .value()
        ->encode(kText, /*control=*/true, llm::SpecialTokens::kNone);
  }
  static std::vector<int32_t> wrong() { return {1, 2, 3}; }

  void expect_refused() {
    const auto tokenizer = model().tokenizer->get();
    ASSERT_FALSE(tokenizer.has_value());
    EXPECT_THAT(tokenizer.error().message,
                AllOf(HasSubstr("--tokenizer chat"), HasSubstr("the server"),
                      Not(HasSubstr("sim:")), Not(HasSubstr("house"))));
    EXPECT_THAT(warnings_.list(),
                ElementsAre(AllOf(HasSubstr("--tokenizer chat=sim:"), Not(HasSubstr("house")))));
  }
  void expect_kept() {
    EXPECT_TRUE(model().tokenizer->get().has_value());
    EXPECT_THAT(warnings_.list(), IsEmpty());
  }

  std::mutex mutex_;
  std::vector<int32_t> told_;
  http::testing::TestServer server_{
      [this](const http::testing::TestRequest& request) { return reply_to(request); }};
  store::testing::MemoryDisk disk_;
  SystemClock clock_;
  Warnings warnings_;
  std::unique_ptr<UpstreamServerFleet> fleet_;
};

TEST_F(TokenizerWatchTest, AnotherTokenizerThanTheServersIsRefusedWithOneWarning) {
  tell(wrong());
  ask();
  expect_refused();
  ask();
  ask_chat();
  expect_refused();
}

TEST_F(TokenizerWatchTest, AChatShowsItToo) {
  tell(wrong());
  ask_chat();
  expect_refused();
}

TEST_F(TokenizerWatchTest, TheFirstComparisonDecides) {
  tell(right());
  ask();
  tell(wrong());
  ask();
  expect_kept();
}

TEST_F(TokenizerWatchTest, AnswersThatTellNothingDecideNothing) {
  ask();  // an empty list
  tell(wrong());
  ask(R"("n":1)");                                               // did not ask for ids
  ask(R"("return_token_ids":true,"truncate_prompt_tokens":3)");  // another prompt
  expect_kept();
  ask();
  expect_refused();
}

TEST_F(TokenizerWatchTest, RequestsAreLookedAtUntilItIsKnown) {
  TokenizerWatch watch(warnings_);
  const std::string body =
      R"({"model":"chat","prompt":"the house is old","return_token_ids":true})";
  const llm::Request request =
      llm::raw_request(llm::Endpoint::kCompletions, body, boost::json::parse(body).as_object(), {});
  EXPECT_FALSE(watch.wants(request)) << "nothing is watched";
  watch.add("chat", "sim:", model().tokenizer);
  EXPECT_TRUE(watch.wants(request));
  const std::string reply = fmt::format(R"({{"choices":[{{"index":0,"prompt_token_ids":[{}]}}]}})",
                                        fmt::join(right(), ","));
  watch.see(request, reply);
  EXPECT_FALSE(watch.wants(request));
  expect_kept();
}

}  // namespace
}  // namespace windrow::fleet
