// Keys that share a server: one that floods it does not delay one that asks for little. Judged by
// the requests that are still inside when the other key has its answer.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <csignal>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "end_to_end/served.h"

namespace windrow::end_to_end {
namespace {

namespace json = boost::json;

class ServeKeys : public ::testing::Test {
 protected:
  // Makes a new key of this name and returns it.
  std::string add_key(const std::string& name, const Words& limits = {}) const {
    Words words = {"keys", "add", "keys.txt", name};
    words.insert(words.end(), limits.begin(), limits.end());
    const Ended added = folder_.windrow(words);
    EXPECT_EQ(added.code, 0) << added;
    return added.output.substr(0, added.output.find('\n'));
  }

  JobFolder folder_;
};

// Requests of one key that are out together.
class Flood {
 public:
  Flood(const Served& served, std::string key) : served_(served), key_(std::move(key)) {}

  void send(std::string_view content, std::string_view members) {
    calls_.push_back(std::make_unique<HttpCall>(served_.port(), "POST", "/v1/chat/completions",
                                                chat_body(content, members), key_));
  }

  size_t inside() const { return end_to_end::inside(served_, key_); }

  // Requests that have arrived, also those that have ended.
  size_t arrived() const {
    size_t ended = 0;
    std::istringstream lines(metric(served_, "windrow_key_calls_total{", key_));
    for (std::string line; std::getline(lines, line);)
      ended += std::stoul(line.substr(line.rfind(' ')));
    return ended + inside();
  }

  size_t size() const { return calls_.size(); }

 private:
  const Served& served_;
  const std::string key_;
  std::vector<std::unique_ptr<HttpCall>> calls_;
};

// Eighty requests at four places: in the order in which they came, the others would be the last.
TEST_F(ServeKeys, AKeyWithFewRequestsDoesNotWaitForAFlood) {
  const std::string loud = add_key("loud");
  const std::string quiet = add_key("quiet");
  Served served(folder_, {"--model", "sim:", "--rows-max", "4", "--api-keys", "keys.txt"});
  ASSERT_TRUE(served.wait_until_ready()) << served.process().wait();
  Flood flood(served, loud);
  for (int i = 0; i < 80; ++i)
    flood.send(fmt::format("row {}", i), R"("max_tokens":120,"ignore_eos":true)");
  ASSERT_TRUE(served.process().wait_until([&] { return flood.arrived(); }, flood.size()));
  for (int i = 0; i < 3; ++i) {
    const HttpReply reply = served.post(
        "/v1/chat/completions", chat_body(fmt::format("short {}", i), R"("max_tokens":2)"), quiet);
    EXPECT_EQ(reply.status, 200) << reply.body;
  }
  EXPECT_GE(flood.inside(), 40U);
}

TEST_F(ServeKeys, AnEmptiedFileRevokesTheLastKey) {
  const std::string key = add_key("only");
  Served served(folder_, {"--model", "sim:", "--api-keys", "keys.txt"});
  ASSERT_TRUE(served.wait_until_ready()) << served.process().wait();
  EXPECT_EQ(served.get("/v1/models", key).status, 200);
  folder_.write("keys.txt", "");
  served.process().send(SIGHUP);
  ASSERT_TRUE(served.process().wait_for_errors("keys.txt has no keys, so every request is refused"))
      << served.process().wait();
  EXPECT_EQ(served.get("/v1/models", key).status, 401);
  EXPECT_EQ(served.get("/v1/models").status, 401);
}

// Ten requests bring a thousand rows; what they take of the places is more than ten.
TEST_F(ServeKeys, RequestsOfManyRowsAreNotTakenForSmallOnes) {
  const std::string loud = add_key("loud");
  const std::string quiet = add_key("quiet");
  Served served(folder_, {"--model", "sim:", "--api-keys", "keys.txt"});
  ASSERT_TRUE(served.wait_until_ready()) << served.process().wait();
  Flood flood(served, loud);
  for (int i = 0; i < 10; ++i)
    flood.send(fmt::format("row {}", i), R"("n":100,"max_tokens":100,"ignore_eos":true)");
  ASSERT_TRUE(served.process().wait_until([&] { return flood.arrived(); }, flood.size()));
  const HttpReply reply =
      served.post("/v1/chat/completions", chat_body("short", R"("max_tokens":2)"), quiet);
  EXPECT_EQ(reply.status, 200) << reply.body;
  EXPECT_GE(flood.inside(), 6U);
}

std::string batch_line(int number, int output_tokens) {
  return fmt::format(
      R"({{"custom_id":"row-{}","method":"POST","url":"/v1/chat/completions","body":)"
      R"({{"model":"sim","max_tokens":{},"ignore_eos":true,)"
      R"("messages":[{{"role":"user","content":"row {}"}}]}}}})"
      "\n",
      number, output_tokens, number);
}

// A batch of three hundred rows, and one of four that comes later: the second ends while the first
// is near its beginning. The usage of both is reported.
TEST_F(ServeKeys, BatchesShareToo) {
  const std::string loud = add_key("loud");
  const std::string quiet = add_key("quiet");
  Served served(folder_, {"--model", "sim:", "--rows-max", "4", "--api-keys", "keys.txt",
                          "--data-dir", "data"});
  ASSERT_TRUE(served.wait_until_ready()) << served.process().wait();
  const auto start = [&](const std::string& key, int rows, int output_tokens) {
    std::string lines;
    for (int i = 0; i < rows; ++i)
      lines += batch_line(i, output_tokens);
    const HttpReply file = served.upload("rows.jsonl", lines, key);
    EXPECT_EQ(file.status, 200) << file.body;
    const std::string id(json::parse(file.body).at("id").as_string());
    const HttpReply batch =
        served.post("/v1/batches",
                    fmt::format(R"({{"input_file_id":"{}","endpoint":"/v1/chat/completions",)"
                                R"("completion_window":"24h"}})",
                                id),
                    key);
    EXPECT_EQ(batch.status, 200) << batch.body;
    return "/v1/batches/" + std::string(json::parse(batch.body).at("id").as_string());
  };
  const auto state = [&](const std::string& path, const std::string& key) {
    return json::parse(served.get(path, key).body).as_object();
  };
  const auto completed = [&](const std::string& path, const std::string& key) {
    return state(path, key).at("request_counts").at("completed").to_number<int>();
  };
  const std::string large = start(loud, 300, 100);
  ASSERT_TRUE(
      served.process().wait_until([&] { return completed(large, loud); }, ::testing::Gt(0)));
  const std::string small = start(quiet, 4, 10);
  ASSERT_TRUE(served.process().wait_until([&] { return state(small, quiet).at("status"); },
                                          json::value("completed")));
  // In the order in which they came, those that were in the dispatcher would go before: 72.
  EXPECT_LT(completed(large, loud), 50);
  const std::string page = served.get("/metrics", quiet).body;
  EXPECT_NE(page.find(R"(windrow_key_batch_rows_total{key="quiet",outcome="answered"} 4)"),
            std::string::npos)
      << page;
  EXPECT_NE(page.find(R"(windrow_key_completion_tokens_total{key="quiet"} 40)"), std::string::npos);
}

}  // namespace
}  // namespace windrow::end_to_end
