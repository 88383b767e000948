// Streams through dispatcher, client and sockets from simulated servers: whatever the servers do,
// and whichever clients disconnect, each client gets its own answer from its beginning, and nothing
// else.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "dispatch/dispatcher.h"
#include "dispatch/testing/raw_rows.h"
#include "http/curl_client.h"
#include "llm/stream_sink.h"
#include "sim_upstream/sim_server.h"
#include "upstream/upstream_backend.h"

namespace windrow {
namespace {

namespace json = boost::json;
using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::milliseconds;

// The deltas of a chat that one client gets.
class Ear final : public llm::StreamSink {
 public:
  // `enough` is called at the piece of that number.
  explicit Ear(int pieces_wanted = -1, std::function<void()> enough = nullptr)
      : pieces_wanted_(pieces_wanted), enough_(std::move(enough)) {}

  void on_delta(llm::Delta piece) override {
    EXPECT_FALSE(ended) << "a piece after the end";
    const json::value event = json::parse(piece.raw);
    for (const json::value& choice : event.at("choices").as_array()) {
      boost::system::error_code error;
      const json::value* content = choice.find_pointer("/delta/content", error);
      if (content != nullptr) text += content->as_string();
      if (!choice.at("finish_reason").is_null()) ++finishes;
    }
    if (++pieces == pieces_wanted_ && enough_) enough_();
  }

  std::string text;
  int finishes = 0;
  int pieces = 0;
  std::atomic<bool> ended = false;

 private:
  const int pieces_wanted_;
  const std::function<void()> enough_;
};

struct Asked {
  std::string text;  // what the server repeats
  std::shared_ptr<Ear> ear;
  std::optional<dispatch::DispatchResult> end;
};

class Streams : public ::testing::Test {
 protected:
  sim_upstream::SimOptions sim(const std::vector<std::string_view>& faults, uint64_t seed = 1) {
    sim_upstream::SimOptions options{.seed = seed, .models = {"m"}, .slots = 16};
    options.queue_max = 100'000;
    options.prompt_token_time = microseconds(1);
    options.token_time = microseconds(100);
    options.answer_tokens = 12;
    options.answer = sim_upstream::AnswerKind::kEcho;
    for (const std::string_view fault : faults)
      options.faults.push_back(*sim_upstream::parse_fault(fault));
    return options;
  }

  // Starts so many servers with the same options.
  void open(const sim_upstream::SimOptions& like, size_t servers = 1) {
    client_ = std::make_unique<http::CurlClient>(client_loop_, http::ClientOptions{});
    std::vector<dispatch::DispatchUpstream> upstreams;
    for (size_t i = 0; i < servers; ++i) {
      auto server = sim_upstream::SimServer::open(server_loop_, {.sim = like});
      ASSERT_TRUE(server.has_value()) << server.error().message;
      servers_.push_back(*std::move(server));
      const auto base = http::parse_url(fmt::format("http://127.0.0.1:{}", servers_[i]->port()));
      backends_.push_back(std::make_unique<upstream::UpstreamBackend>(
          *client_, clock_, upstream::UpstreamOptions{.base = upstream::with_version(*base)}));
      upstreams.push_back({.backend = backends_.back().get(),
                           .concurrency = dispatch::ConcurrencyOptions{.fixed = 16}});
    }
    dispatch::DispatchOptions options;
    options.attempts_max = 50;
    options.backoff_base = milliseconds(1);
    options.router.failures_max = 0;
    options.waiting_max = 100'000;
    waker_.emplace(clock_);
    dispatcher_.emplace(std::move(upstreams), std::move(options), clock_, *waker_);
  }

  void close() {
    dispatcher_.reset();
    waker_.reset();
    backends_.clear();
    client_.reset();
    servers_.clear();
    asked_.clear();
  }

  static llm::Request chat(std::string_view text, std::string_view more = "") {
    return dispatch::testing::raw_row(
        llm::Endpoint::kChatCompletions,
        fmt::format(R"({{"model":"m","messages":[{{"role":"user","content":"{}"}}]{}}})", text,
                    more));
  }

  std::optional<dispatch::ItemId> ask(Asked& asked, llm::Request request, bool may_share = true) {
    dispatch::WorkItem item = dispatch::testing::item_of(request);
    if (!may_share) item.same_answer.reset();
    return dispatcher_->offer(std::move(request), item, 0,
                              [this, &asked](dispatch::DispatchResult result) {
                                asked.ear->ended = true;
                                const std::scoped_lock lock(mutex_);
                                asked.end = std::move(result);
                              },
                              {.listener = asked.ear});
  }

  int64_t total(int64_t sim_upstream::SimStats::* member) const {
    int64_t sum = 0;
    for (const auto& server : servers_)
      sum += server->stats().*member;
    return sum;
  }

  // Waits until no server is at work: a request whose client left frees its slot.
  void wait_until_servers_rest() const {
    for (const auto& server : servers_) {
      for (;;) {
        const sim_upstream::SimStats stats = server->stats();
        int64_t ended = stats.left;
        for (const auto& [status, count] : stats.answered)
          ended += count;
        if (ended >= stats.requests) break;
      }
    }
  }

  const SystemClock clock_;
  http::Loop server_loop_{clock_};
  http::Loop client_loop_{clock_};
  std::optional<dispatch::ThreadWaker> waker_;  // of one dispatcher alone
  std::vector<std::unique_ptr<sim_upstream::SimServer>> servers_;
  std::unique_ptr<http::Client> client_;
  std::vector<std::unique_ptr<upstream::UpstreamBackend>> backends_;
  std::mutex mutex_;
  std::vector<Asked> asked_;  // before the dispatcher, which calls into it
  std::optional<dispatch::Dispatcher> dispatcher_;
};

// Guarantees for every client.
void expect_own(const Asked& asked) {
  ASSERT_TRUE(asked.end.has_value()) << asked.text;
  EXPECT_TRUE(asked.text.starts_with(asked.ear->text))
      << asked.text << " heard " << asked.ear->text;
  if (std::holds_alternative<llm::Answer>(asked.end->outcome)) {
    EXPECT_EQ(asked.ear->text, asked.text);
    EXPECT_EQ(asked.ear->finishes, 1);
  }
}

TEST_F(Streams, EachOfManyGetsItsOwnStream) {
  open(sim({}), 2);
  asked_.resize(400);
  for (size_t i = 0; i < asked_.size(); ++i) {
    asked_[i] = {.text = fmt::format("nonce {} é日本 {}.", i, std::string(i % 40, 'x')),
                 .ear = std::make_shared<Ear>()};
    ASSERT_TRUE(ask(asked_[i], chat(asked_[i].text)));
  }
  dispatcher_->wait_idle();
  for (const Asked& asked : asked_) {
    expect_own(asked);
    const auto* answer = std::get_if<llm::Answer>(&asked.end->outcome);
    ASSERT_NE(answer, nullptr) << std::get<llm::Failure>(asked.end->outcome).message;
    EXPECT_GT(asked.ear->pieces, 3) << "it came as a whole";
    EXPECT_GT(answer->usage.completion_tokens, 0);
  }
  EXPECT_EQ(total(&sim_upstream::SimStats::requests), 400);
}

TEST_F(Streams, EqualRequestsGetTheSameStream) {
  sim_upstream::SimOptions options = sim({});
  options.token_time = milliseconds(2);
  open(options);
  asked_.resize(30);
  for (Asked& asked : asked_) {
    asked = {.text = "the same", .ear = std::make_shared<Ear>()};
    ASSERT_TRUE(ask(asked, chat("the same", R"(,"temperature":0)")));
  }
  dispatcher_->wait_idle();
  for (const Asked& asked : asked_) {
    expect_own(asked);
    EXPECT_EQ(asked.ear->text, "the same");
  }
  EXPECT_LT(total(&sim_upstream::SimStats::requests), 30);
}

// Before its first word a stream is asked for again; afterwards it ends with what it had.
TEST_F(Streams, FaultsInTheMiddleMixNothingUp) {
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    close();
    open(sim({"reset=0.1", "truncated=0.05", "content-type=0.1", "stream-error=0.1",
              "stream-garbage=0.05", "no-done=0.1", "slow-body=0.05:5ms", "stall=0.1:5ms"},
             seed),
         2);
    asked_.resize(300);
    for (size_t i = 0; i < asked_.size(); ++i) {
      asked_[i] = {.text = fmt::format("nonce {} of {}", i, seed), .ear = std::make_shared<Ear>()};
      ASSERT_TRUE(ask(asked_[i], chat(asked_[i].text)));
    }
    dispatcher_->wait_idle();
    int answers = 0;
    for (const Asked& asked : asked_) {
      expect_own(asked);
      if (const auto* failure = std::get_if<llm::Failure>(&asked.end->outcome)) {
        EXPECT_EQ(failure->status, 502) << failure->message;
        EXPECT_GT(asked.ear->pieces, 0) << "it could have been asked for again";
      } else {
        ++answers;
      }
    }
    EXPECT_GT(answers, 150);
    EXPECT_LT(answers, 300);
  }
}

TEST_F(Streams, AClientThatLeavesGetsNoMoreAndTheOthersAll) {
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    close();
    open(sim({"stall=0.2:3ms"}, seed), 2);
    Random random(seed);
    asked_.resize(300);
    // The number of an item is known to its listener once it has been offered.
    std::vector<std::atomic<uint64_t>> items(asked_.size());
    std::vector<bool> leaves(asked_.size());
    for (size_t i = 0; i < asked_.size(); ++i) {
      leaves[i] = random.chance(0.5);
      const int pieces = leaves[i] ? static_cast<int>(1 + random.below(8)) : -1;
      const auto leave = [this, &item = items[i]] {
        if (item != 0) dispatcher_->cancel(dispatch::ItemId(item));
      };
      asked_[i] = {.text = fmt::format("nonce {} of {}", i, seed),
                   .ear = std::make_shared<Ear>(pieces, leave)};
      const auto item = ask(asked_[i], chat(asked_[i].text));
      ASSERT_TRUE(item);
      items[i] = item->value();
      // Some clients leave before their first delta.
      if (random.chance(0.1)) {
        leaves[i] = true;
        dispatcher_->cancel(*item);
      }
    }
    dispatcher_->wait_idle();
    int cancelled = 0;
    for (size_t i = 0; i < asked_.size(); ++i) {
      expect_own(asked_[i]);
      const auto* failure = std::get_if<llm::Failure>(&asked_[i].end->outcome);
      if (failure == nullptr) continue;
      EXPECT_EQ(failure->failure_class, llm::FailureClass::kCancelled) << failure->message;
      EXPECT_TRUE(leaves[i]);
      ++cancelled;
    }
    EXPECT_GT(cancelled, 0);
    wait_until_servers_rest();
  }
}

// The server learns it, and its slot is free: it would have been taken for a day.
TEST_F(Streams, AClientThatLeavesFreesTheSlotOfTheServer) {
  sim_upstream::SimOptions options = sim({});
  options.slots = 1;
  options.token_time = hours(1);
  open(options);
  Asked first{.text = "a", .ear = std::make_shared<Ear>()};
  const auto item = ask(first, chat("a"));
  ASSERT_TRUE(item);
  while (servers_[0]->stats().requests == 0) {
  }
  std::promise<llm::Outcome> embedded;
  ASSERT_TRUE(dispatcher_->submit(
      dispatch::testing::raw_row(llm::Endpoint::kEmbeddings, R"({"model":"m","input":"b"})"),
      [&](dispatch::DispatchResult result) { embedded.set_value(std::move(result.outcome)); }));
  dispatcher_->cancel(*item);
  EXPECT_TRUE(std::holds_alternative<llm::Answer>(embedded.get_future().get()));
  dispatcher_->wait_idle();
  EXPECT_EQ(std::get<llm::Failure>(first.end->outcome).failure_class,
            llm::FailureClass::kCancelled);
  EXPECT_EQ(servers_[0]->stats().left, 1);
}

// The dispatcher is destroyed while clients read streams, however far they are.
TEST_F(Streams, TheEndOfTheDispatcherEndsAllStreams) {
  sim_upstream::SimOptions options = sim({"stall=0.5"});
  open(options, 2);
  asked_.resize(100);
  std::atomic<int> heard = 0;
  for (size_t i = 0; i < asked_.size(); ++i) {
    asked_[i] = {.text = fmt::format("nonce {}", i), .ear = std::make_shared<Ear>(1, [&heard] {
                                                       ++heard;
                                                       heard.notify_all();
                                                     })};
    ASSERT_TRUE(ask(asked_[i], chat(asked_[i].text)));
  }
  for (int so_far = heard; so_far < 20; so_far = heard)
    heard.wait(so_far);
  dispatcher_->cancel_all();
  dispatcher_->wait_idle();
  for (const Asked& asked : asked_)
    expect_own(asked);
  wait_until_servers_rest();
}

}  // namespace
}  // namespace windrow
