// A request of high priority does not wait for work that came before it, whatever that is: many
// answers to one request, many texts, or prompts that fill the model's memory. Judged by the
// requests that are still inside when it has its answer.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "end_to_end/served.h"

namespace windrow::end_to_end {
namespace {

namespace json = boost::json;

// Steps of a tenth of a second: what a batch asks for lasts for minutes.
const std::string kSlow = "sim:step-us=100000,row-us=0,prompt-token-us=0,pass-us=1000000";

// Requests that are out together, from a batch and from clients.
class Crowd {
 public:
  explicit Crowd(const Served& served) : served_(served) {}

  void send(std::string_view path, std::string_view body) {
    calls_.push_back(std::make_unique<HttpCall>(served_.port(), "POST", path, body));
  }

  size_t inside() const { return end_to_end::inside(served_); }

  bool wait_until_inside(Served& served) const {
    return served.process().wait_until([&] { return inside(); }, size());
  }

  size_t size() const { return calls_.size(); }

 private:
  const Served& served_;
  std::vector<std::unique_ptr<HttpCall>> calls_;
};

std::string in_a_hurry() {
  return chat_body("now", R"("priority":"interactive","max_tokens":2)");
}

// Eight requests bring eight hundred rows.
TEST(ServePriority, AnAnswerDoesNotWaitForTheRowsOfABatch) {
  const JobFolder folder;
  Served served(folder, {"--model", kSlow});
  ASSERT_TRUE(served.wait_until_ready()) << served.process().wait();
  Crowd batch(served);
  for (int i = 0; i < 8; ++i) {
    batch.send("/v1/chat/completions",
               chat_body(fmt::format("row {}", i),
                         R"("priority":"batch","n":100,"max_tokens":2000,"ignore_eos":true)"));
  }
  ASSERT_TRUE(batch.wait_until_inside(served));
  for (int i = 0; i < 3; ++i) {
    const HttpReply reply = served.post("/v1/chat/completions", in_a_hurry());
    EXPECT_EQ(reply.status, 200) << reply.body;
    EXPECT_EQ(batch.inside(), batch.size());
  }
}

// Forty prompts of which the memory has room for one.
TEST(ServePriority, AnAnswerDoesNotWaitForTheMemoryOfABatch) {
  const JobFolder folder;
  Served served(folder, {"--model", kSlow, "--ctx", "2048"});
  ASSERT_TRUE(served.wait_until_ready()) << served.process().wait();
  Crowd batch(served);
  for (int i = 0; i < 40; ++i) {
    std::string prompt;
    for (int word = 0; word < 450; ++word)
      prompt += fmt::format("w{} ", i);
    batch.send("/v1/chat/completions",
               chat_body(prompt, R"("priority":"batch","max_tokens":1000,"ignore_eos":true)"));
  }
  ASSERT_TRUE(batch.wait_until_inside(served));
  for (int i = 0; i < 3; ++i) {
    const HttpReply reply = served.post("/v1/chat/completions", in_a_hurry());
    EXPECT_EQ(reply.status, 200) << reply.body;
  }
  EXPECT_EQ(batch.inside(), batch.size());
}

// Twenty requests bring twenty thousand texts.
TEST(ServePriority, AVectorDoesNotWaitForTheTextsOfABatch) {
  const JobFolder folder;
  Served served(folder, {"--model", kSlow});
  ASSERT_TRUE(served.wait_until_ready()) << served.process().wait();
  Crowd batch(served);
  for (int i = 0; i < 20; ++i) {
    json::array texts;
    for (int text = 0; text < 1000; ++text) {
      std::string words = fmt::format("{} {}", i, text);
      for (int word = 0; word < 20; ++word)
        words += " word";
      texts.emplace_back(words);
    }
    batch.send("/v1/embeddings", json::serialize(json::object{
                                     {"model", "sim"}, {"priority", "batch"}, {"input", texts}}));
  }
  ASSERT_TRUE(batch.wait_until_inside(served));
  const HttpReply reply = served.post(
      "/v1/embeddings", R"({"model":"sim","priority":"interactive","input":"just this"})");
  EXPECT_EQ(reply.status, 200) << reply.body;
  EXPECT_GE(batch.inside(), 15U);
}

}  // namespace
}  // namespace windrow::end_to_end
