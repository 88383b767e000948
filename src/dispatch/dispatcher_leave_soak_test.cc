// Clients on threads ask, stream and disconnect at random: each request that was admitted ends
// exactly once and with its own answer, gets the deltas of that answer and none after its Done, and
// only requests of clients that left are cancelled.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "dispatch/dispatcher.h"
#include "llm/stream_sink.h"

namespace windrow::dispatch {
namespace {

using std::chrono::microseconds;

constexpr size_t kPieceBytes = 5;

std::string answer_to(const std::string& question) {
  return fmt::format("what {} is, nobody can say, but many try to", question);
}

// Streams its answers delta by delta, fails now and then, and ends a call whose token is stopped.
// Two threads, requests in no order.
class Talker final : public llm::Backend {
 public:
  explicit Talker(uint64_t seed) : random_(seed) {
    for (std::jthread& thread : threads_)
      thread = std::jthread([this](const std::stop_token& stop) { serve(stop); });
  }

  void submit(llm::BackendCall call, Done done) override {
    const std::scoped_lock lock(mutex_);
    held_.emplace_back(std::move(call), std::move(done));
    changed_.notify_one();
  }

  int32_t in_flight_target() const override { return 6; }
  llm::BackendStats stats() const override { return {}; }

 private:
  void serve(const std::stop_token& stop) {
    for (;;) {
      std::pair<llm::BackendCall, Done> next;
      uint64_t seed = 0;
      {
        std::unique_lock lock(mutex_);
        if (!changed_.wait(lock, stop, [&] { return !held_.empty(); })) return;
        const auto at = held_.begin() + static_cast<std::ptrdiff_t>(random_.below(held_.size()));
        next = std::move(*at);
        held_.erase(at);
        seed = random_.next();
      }
      next.second(outcome_of(next.first, Random(seed)));
    }
  }

  static llm::Outcome outcome_of(const llm::BackendCall& call, Random random) {
    llm::Answer answer;
    answer.choices.emplace_back().text = answer_to(call.request->model);
    const std::string& text = answer.choices.front().text;
    if (random.chance(0.05)) return llm::Failure{llm::FailureClass::kTransient};
    for (size_t at = 0; at < text.size(); at += kPieceBytes) {
      if (call.unwanted.stop_requested()) return llm::Failure{llm::FailureClass::kCancelled};
      if (random.chance(0.01)) return llm::Failure{llm::FailureClass::kTransient};
      if (!call.listener) continue;
      llm::Delta piece;
      piece.text = text.substr(at, kPieceBytes);
      call.listener->on_delta(std::move(piece));
    }
    return answer;
  }

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<std::pair<llm::BackendCall, Done>> held_;
  Random random_;
  std::array<std::jthread, 2> threads_;
};

struct Client final : llm::StreamSink {
  void on_delta(llm::Delta piece) override {
    if (ends > 0) ++heard_after_the_end;
    heard += piece.text;
  }

  std::string heard;
  std::atomic<int> ends = 0;
  std::atomic<int> heard_after_the_end = 0;
  bool left = false;
  bool accepted = false;
  std::optional<llm::Outcome> outcome;
};

WorkItem draw_item(Random& random, const std::string& question, const Clock& clock) {
  WorkItem item{.tokens = random.between(1, 100)};
  item.priority = static_cast<Priority>(random.below(3));
  if (random.chance(0.6)) item.same_answer = hash128(question);
  if (random.chance(0.1)) item.lane = 1 + random.below(3);
  if (random.chance(0.1)) item.deadline = clock.now() + microseconds(random.below(3000));
  return item;
}

void check(const Client& client, bool listens, const std::string& question) {
  EXPECT_EQ(client.ends, client.accepted ? 1 : 0);
  EXPECT_EQ(client.heard_after_the_end, 0);
  if (!client.accepted) return;
  const std::string expected = answer_to(question);
  if (const auto* answer = std::get_if<llm::Answer>(&*client.outcome)) {
    EXPECT_EQ(answer->choices.front().text, expected);
    if (listens) {
      EXPECT_EQ(client.heard, expected);
    }
    return;
  }
  EXPECT_TRUE(expected.starts_with(client.heard)) << client.heard;
  if (std::get<llm::Failure>(*client.outcome).failure_class == llm::FailureClass::kCancelled) {
    EXPECT_TRUE(client.left);
  }
}

TEST(DispatcherLeaveSoak, EverybodyEndsOnceAndHearsHisOwn) {
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const SystemClock clock;
    ThreadWaker waker(clock);
    std::array<Talker, 2> talkers = {Talker(seed), Talker(seed + 100)};
    constexpr int kThreads = 3;
    constexpr int kRequests = 400;
    std::vector<std::vector<std::shared_ptr<Client>>> clients(kThreads);
    std::vector<std::vector<std::pair<std::string, bool>>> asked(kThreads);
    {
      DispatchOptions options{.attempts_max = 3,
                              .waiting_max = static_cast<int32_t>(random.between(1, 40)),
                              .backoff_base = microseconds(random.below(200))};
      if (random.chance(0.5)) options.reserve = queueing::kServerReserve;
      options.router.failures_max = 0;
      options.seed = seed;
      Dispatcher dispatcher({{.backend = talkers.data()}, {.backend = &talkers[1]}}, options, clock,
                            waker);
      std::vector<std::jthread> threads;
      threads.reserve(kThreads);
      for (size_t thread = 0; thread < kThreads; ++thread) {
        threads.emplace_back([&, thread] {
          Random own(seed * 10 + thread);
          std::vector<std::pair<ItemId, std::shared_ptr<Client>>> inside;
          for (int request = 0; request < kRequests; ++request) {
            const auto client = std::make_shared<Client>();
            const std::string question = fmt::format("question {}", own.below(12));
            const bool listens = own.chance(0.6);
            clients[thread].push_back(client);
            asked[thread].emplace_back(question, listens);
            std::optional<ItemId> id;
            for (int tries = 0; tries < 1000 && !id; ++tries) {
              llm::Request ask;
              ask.model = question;
              Delivery delivery;
              if (listens) delivery.listener = client;
              id = dispatcher.offer(
                  std::move(ask), draw_item(own, question, clock), 0,
                  [client](DispatchResult result) {
                    client->outcome = std::move(result.outcome);
                    ++client->ends;
                  },
                  std::move(delivery));
              if (!id) std::this_thread::yield();
            }
            client->accepted = id.has_value();
            if (id) inside.emplace_back(*id, client);
            while (!inside.empty() && own.chance(0.4)) {
              const size_t from = inside.size() > 10 ? inside.size() - 10 : 0;
              const auto& [item, who] = inside[from + own.below(inside.size() - from)];
              who->left = true;
              dispatcher.cancel(item);
            }
          }
        });
      }
      threads.clear();
      dispatcher.wait_idle();
      EXPECT_EQ(dispatcher.queue().waiting, (std::array<int32_t, 3>{}));
    }
    for (size_t thread = 0; thread < kThreads; ++thread) {
      for (size_t i = 0; i < clients[thread].size(); ++i)
        check(*clients[thread][i], asked[thread][i].second, asked[thread][i].first);
    }
  }
}

}  // namespace
}  // namespace windrow::dispatch
