// Everything of the dispatcher at once, on threads: each request that was admitted ends exactly
// once and with its own answer, whatever the servers do and whenever it is cancelled.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "dispatch/dispatcher.h"
#include "dispatch/testing/raw_rows.h"
#include "store/testing/memory_disk.h"

namespace windrow::dispatch {
namespace {

namespace json = boost::json;
using std::chrono::microseconds;

// Embeds a text as itself, fails now and then, and answers on two threads of its own.
class Server final : public llm::Backend {
 public:
  explicit Server(uint64_t seed) : random_(seed) {
    for (std::jthread& thread : threads_)
      thread = std::jthread([this](const std::stop_token& stop) { serve(stop); });
  }

  void submit(llm::BackendCall call, Done done) override {
    const std::scoped_lock lock(mutex_);
    held_.emplace_back(std::move(call), std::move(done));
    changed_.notify_one();
  }

  int32_t in_flight_target() const override { return 3; }
  llm::BackendStats stats() const override { return {}; }

 private:
  using Held = std::pair<llm::BackendCall, Done>;

  void serve(const std::stop_token& stop) {
    for (;;) {
      Held next;
      double draw = 0;
      {
        std::unique_lock lock(mutex_);
        if (!changed_.wait(lock, stop, [&] { return !held_.empty(); })) return;
        // In no order.
        const auto at = held_.begin() + static_cast<std::ptrdiff_t>(random_.below(held_.size()));
        next = std::move(*at);
        held_.erase(at);
        draw = random_.unit();
      }
      next.second(next.first.is_cancelled()
                      ? llm::Outcome(llm::Failure{llm::FailureClass::kCancelled})
                  : draw < 0.05 ? llm::Outcome(llm::Failure{llm::FailureClass::kTransient})
                  : draw < 0.08 ? llm::Outcome(llm::Failure{llm::FailureClass::kRequest})
                                : answer(*next.first.request, draw > 0.95));
    }
  }

  static llm::Outcome answer(const llm::Request& request, bool forgets_one) {
    const json::value body = json::parse(request.raw);
    const json::value& input = body.at("input");
    json::array texts = input.is_array() ? input.as_array() : json::array{input};
    if (forgets_one && texts.size() > 1) texts.pop_back();
    json::array data;
    for (size_t i = 0; i < texts.size(); ++i)
      data.push_back({{"index", i}, {"embedding", {texts[i]}}});
    llm::Answer answer;
    answer.raw = json::serialize(json::object{{"data", std::move(data)}});
    return answer;
  }

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<Held> held_;
  Random random_;
  std::array<std::jthread, 2> threads_;
};

TEST(DispatcherSoak, EverybodyEndsOnceWithHisOwn) {
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    store::testing::MemoryDisk disk;
    auto cache = ResponseCache::open(disk, "cache");
    ASSERT_TRUE(cache.has_value());
    const SystemClock clock;
    ThreadWaker waker(clock);
    std::array<Server, 2> servers = {Server(seed), Server(seed + 100)};
    constexpr int kThreads = 3;
    constexpr int kRows = 400;
    std::array<std::atomic<int>, size_t{kThreads} * kRows> ends{};
    std::atomic<int> let_in = 0;
    std::atomic<int> wrong = 0;
    const auto cancel_after = static_cast<int>(random.below(2 * kThreads * kRows));
    const bool cancel_all = random.chance(0.5);
    {
      DispatchOptions options{.attempts_max = 5,
                              .waiting_max = 20,
                              .backoff_base = microseconds(random.below(200)),
                              .packer = {.rows_max = static_cast<int32_t>(random.between(1, 12))}};
      options.coalesce = random.chance(0.7);
      if (random.chance(0.5)) options.cache = cache->get();
      options.router.failures_max = 0;
      options.seed = seed;
      Dispatcher dispatcher({{.backend = servers.data()}, {.backend = &servers[1]}}, options, clock,
                            waker);
      std::vector<std::jthread> threads;
      threads.reserve(kThreads);
      for (int thread = 0; thread < kThreads; ++thread) {
        threads.emplace_back([&, thread] {
          Random own(seed * 10 + static_cast<uint64_t>(thread));
          for (int row = 0; row < kRows; ++row) {
            const std::string text = fmt::format("{}", own.below(200));
            llm::Request request = testing::raw_row(llm::Endpoint::kEmbeddings,
                                                    fmt::format(R"({{"input":"{}"}})", text));
            WorkItem item = testing::item_of(request);
            item.lane = own.chance(0.1) ? 1 + own.below(3) : 0;
            const auto place = static_cast<size_t>(thread) * kRows + static_cast<size_t>(row);
            const auto done = [&, place, text](const DispatchResult& result) {
              ++ends[place];
              const auto* answer = std::get_if<llm::Answer>(&result.outcome);
              if (answer == nullptr) return;
              const json::value body = json::parse(answer->raw);
              if (body.at("data").at(0).at("embedding").at(0).as_string() != text) ++wrong;
            };
            if (!dispatcher.submit(std::move(request), item, 0, done)) return;
            if (++let_in == cancel_after) {
              dispatcher.stop_admitting();
              cancel_all ? dispatcher.cancel_all() : dispatcher.cancel_waiting();
            }
          }
        });
      }
      threads.clear();
      dispatcher.wait_idle();
      EXPECT_EQ(dispatcher.in_flight(), 0);
    }
    int ended = 0;
    for (const std::atomic<int>& count : ends) {
      EXPECT_LE(count, 1);
      ended += count;
    }
    EXPECT_EQ(ended, let_in);
    EXPECT_EQ(wrong, 0);
    if (cancel_after > kThreads * kRows) {
      EXPECT_EQ(let_in, kThreads * kRows);
    }
  }
}

}  // namespace
}  // namespace windrow::dispatch
