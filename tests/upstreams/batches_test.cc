// Texts to embed, through dispatcher, client and sockets to a simulated server: whatever it does,
// every text gets its own vector, or a failure of its own.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "dispatch/dispatcher.h"
#include "dispatch/testing/raw_rows.h"
#include "http/curl_client.h"
#include "sim_upstream/answer_text.h"
#include "sim_upstream/sim_server.h"
#include "store/testing/memory_disk.h"
#include "upstream/upstream_backend.h"

namespace windrow {
namespace {

namespace json = boost::json;
using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr int kTexts = 300;
constexpr int64_t kNumbers = 16;

class Batches : public ::testing::Test {
 protected:
  void open(std::vector<std::string_view> faults, dispatch::DispatchOptions options,
            dispatch::ConcurrencyOptions concurrency = {.fixed = 2}) {
    sim_upstream::SimOptions sim{.models = {"m"}, .slots = 64};
    sim.prompt_token_time = microseconds(1);
    sim.embedding_size = kNumbers;
    for (const std::string_view fault : faults)
      sim.faults.push_back(*sim_upstream::parse_fault(fault));
    auto server = sim_upstream::SimServer::open(server_loop_, {.sim = std::move(sim)});
    ASSERT_TRUE(server.has_value()) << server.error().message;
    server_ = *std::move(server);
    client_ = std::make_unique<http::CurlClient>(client_loop_, http::ClientOptions{});
    const auto base = http::parse_url(fmt::format("http://127.0.0.1:{}", server_->port()));
    backend_ = std::make_unique<upstream::UpstreamBackend>(
        *client_, clock_, upstream::UpstreamOptions{.base = upstream::with_version(*base)});
    options.attempts_max = 20;
    options.backoff_base = milliseconds(1);
    options.router.failures_max = 0;
    options.on_batch = [this](const dispatch::SentBatch& batch) {
      const std::scoped_lock lock(mutex_);
      largest_ = std::max(largest_, batch.rows);
    };
    dispatcher_.emplace(std::vector<dispatch::DispatchUpstream>{{.backend = backend_.get(),
                                                                 .concurrency = concurrency}},
                        std::move(options), clock_, waker_);
  }

  static std::string text(int number) {
    return fmt::format("text {} {}", number, std::string(static_cast<size_t>(number % 50), 'x'));
  }

  // Runs so many texts; some requests have their text in a list.
  void run(int texts) {
    ends_.assign(static_cast<size_t>(texts), std::nullopt);
    for (int i = 0; i < texts; ++i) {
      llm::Request request = dispatch::testing::raw_row(
          llm::Endpoint::kEmbeddings,
          i % 3 == 0 ? fmt::format(R"({{"model":"m","input":["{}"]}})", text(i))
                     : fmt::format(R"({{"input":"{}","model":"m"}})", text(i)));
      const dispatch::WorkItem item = dispatch::testing::item_of(request);
      ASSERT_TRUE(dispatcher_->submit(std::move(request), item, 0,
                                      [this, i](dispatch::DispatchResult result) {
                                        const std::scoped_lock lock(mutex_);
                                        ends_[static_cast<size_t>(i)] = std::move(result);
                                      }));
    }
    dispatcher_->wait_idle();
  }

  void expect_all_their_own() const {
    for (size_t i = 0; i < ends_.size(); ++i) {
      ASSERT_TRUE(ends_[i].has_value()) << i;
      const auto* answer = std::get_if<llm::Answer>(&ends_[i]->outcome);
      ASSERT_NE(answer, nullptr) << std::get<llm::Failure>(ends_[i]->outcome).message;
      const json::value body = json::parse(answer->raw);
      const json::array& data = body.at("data").as_array();
      ASSERT_EQ(data.size(), 1U);
      EXPECT_EQ(data.front().at("index").as_int64(), 0);
      const std::vector<float> wanted =
          sim_upstream::embedding_of(text(static_cast<int>(i)), kNumbers);
      const json::array& given = data.front().at("embedding").as_array();
      ASSERT_EQ(given.size(), wanted.size());
      for (size_t k = 0; k < wanted.size(); ++k)
        EXPECT_NEAR(given[k].to_number<double>(), wanted[k], 1e-6) << text(static_cast<int>(i));
    }
  }

  int64_t prompt_tokens() const {
    int64_t tokens = 0;
    for (const auto& end : ends_)
      tokens += std::get<llm::Answer>(end->outcome).usage.prompt_tokens;
    return tokens;
  }

  const SystemClock clock_;
  http::Loop server_loop_{clock_};
  http::Loop client_loop_{clock_};
  dispatch::ThreadWaker waker_{clock_};
  std::unique_ptr<sim_upstream::SimServer> server_;
  std::unique_ptr<http::Client> client_;
  std::unique_ptr<upstream::UpstreamBackend> backend_;
  std::optional<dispatch::Dispatcher> dispatcher_;

  mutable std::mutex mutex_;
  std::vector<std::optional<dispatch::DispatchResult>> ends_;
  int32_t largest_ = 0;
};

TEST_F(Batches, ManyTextsAreFewCalls) {
  open({}, {.packer = {.rows_max = 32}});
  run(kTexts);
  expect_all_their_own();
  EXPECT_GT(largest_, 1);
  EXPECT_LE(largest_, 32);
  const sim_upstream::SimStats stats = server_->stats();
  EXPECT_LT(stats.requests, kTexts / 2);
  EXPECT_EQ(stats.requests, dispatcher_->counts().calls);
  EXPECT_EQ(prompt_tokens(), stats.prompt_tokens);
}

TEST_F(Batches, ASerialServerIsAskedOneCallAtATime) {
  open({}, {.packer = {.rows_max = 32}}, {.fixed = 1});
  run(kTexts);
  expect_all_their_own();
  EXPECT_EQ(server_->stats().in_flight_max, 1);
}

TEST_F(Batches, WithoutBatchingEachIsACall) {
  open({}, {.packer = {.rows_max = 1}});
  run(50);
  expect_all_their_own();
  EXPECT_EQ(server_->stats().requests, 50);
}

TEST_F(Batches, FaultsOfAServerCostNoRowAndMixNothingUp) {
  open({"5xx=0.1", "reset=0.05", "truncated=0.1", "content-type=0.05"},
       {.packer = {.rows_max = 16}}, {});
  run(kTexts);
  expect_all_their_own();
}

TEST_F(Batches, ALaterRunFindsThemInTheCache) {
  store::testing::MemoryDisk disk;
  auto cache = dispatch::ResponseCache::open(disk, "cache");
  ASSERT_TRUE(cache.has_value());
  for (int run_number = 0; run_number < 2; ++run_number) {
    dispatcher_.reset();
    open({}, {.packer = {.rows_max = 32}, .cache = cache->get()});
    run(kTexts);
    expect_all_their_own();
    EXPECT_EQ(dispatcher_->counts().cached, run_number == 0 ? 0 : kTexts);
  }
  EXPECT_EQ(server_->stats().requests, 0);
  dispatcher_.reset();
}

}  // namespace
}  // namespace windrow
