#include "simulate/virtual_threads.h"

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"

namespace windrow::simulate {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

// Three threads that each append their letter five times.
std::string letters(ThreadOptions options, uint64_t* hash = nullptr) {
  Trace trace;
  VirtualThreads threads(options, trace);
  std::string text;
  const RunEnd end = threads.run([&] {
    std::mutex mutex;
    std::vector<std::thread> writers;
    for (const char letter : {'a', 'b', 'c'}) {
      writers.emplace_back([&, letter] {
        for (int i = 0; i < 5; ++i) {
          const std::scoped_lock lock(mutex);
          text += letter;
        }
      });
    }
    for (std::thread& writer : writers)
      writer.join();
  });
  EXPECT_EQ(end, RunEnd::kEnded) << threads.standing();
  if (hash != nullptr) *hash = trace.hash();
  return text;
}

class VirtualThreadsTest : public ::testing::TestWithParam<Interleaving> {};

TEST_P(VirtualThreadsTest, TheSameSeedGivesTheSameInterleaving) {
  std::set<std::string> texts;
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    uint64_t first = 0;
    uint64_t second = 0;
    const std::string text = letters({.seed = seed, .interleaving = GetParam()}, &first);
    EXPECT_EQ(text.size(), 15U);
    EXPECT_EQ(letters({.seed = seed, .interleaving = GetParam()}, &second), text);
    EXPECT_EQ(first, second);
    texts.insert(text);
  }
  EXPECT_GE(texts.size(), 5U);
}

TEST_P(VirtualThreadsTest, TwoMutexesInTwoOrdersAreADeadlockForSomeSeed) {
  int deadlocks = 0;
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    Trace trace;
    VirtualThreads threads({.seed = seed, .interleaving = GetParam()}, trace);
    std::mutex a;
    std::mutex b;
    const RunEnd end = threads.run([&] {
      std::thread other([&] {
        const std::unique_lock first(a);
        const std::unique_lock second(b);
      });
      {
        const std::unique_lock first(b);
        const std::unique_lock second(a);
      }
      other.join();
    });
    EXPECT_TRUE(end == RunEnd::kEnded || end == RunEnd::kDeadlock) << to_string(end);
    if (end != RunEnd::kDeadlock) continue;
    ++deadlocks;
    EXPECT_NE(threads.standing().find("which thread 1 holds"), std::string::npos);
    EXPECT_NE(threads.standing().find("which thread 2 holds"), std::string::npos);
  }
  EXPECT_GT(deadlocks, 0);
  EXPECT_LT(deadlocks, 100);
}

TEST_P(VirtualThreadsTest, AWakeUpThatIsLostIsADeadlockForSomeSeed) {
  int deadlocks = 0;
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    Trace trace;
    VirtualThreads threads({.seed = seed, .interleaving = GetParam()}, trace);
    std::mutex mutex;
    std::condition_variable changed;
    bool ready = false;
    const RunEnd end = threads.run([&] {
      std::thread other([&] {
        {
          const std::scoped_lock lock(mutex);
          ready = true;
        }
        changed.notify_one();
      });
      bool is_ready = false;
      {
        const std::scoped_lock lock(mutex);
        is_ready = ready;
      }
      std::unique_lock lock(mutex);
      // The defect: what was seen may be over.
      if (!is_ready) changed.wait(lock);
      lock.unlock();
      other.join();
    });
    deadlocks += end == RunEnd::kDeadlock ? 1 : 0;
  }
  EXPECT_GT(deadlocks, 0);
}

INSTANTIATE_TEST_SUITE_P(Drawn, VirtualThreadsTest,
                         ::testing::Values(Interleaving::kAny, Interleaving::kSticky,
                                           Interleaving::kPriority));

TEST(VirtualThreads, TimePassesWhenAllThreadsWait) {
  Trace trace;
  VirtualThreads threads({}, trace);
  const SystemClock clock;
  Duration waited{};
  std::vector<int> order;
  EXPECT_EQ(threads.run([&] {
    const TimePoint start = clock.now();
    std::mutex mutex;
    std::condition_variable never;
    std::thread later([&] {
      std::unique_lock lock(mutex);
      EXPECT_FALSE(never.wait_for(lock, hours(3), [] { return false; }));
      order.push_back(2);
    });
    {
      std::unique_lock lock(mutex);
      EXPECT_EQ(never.wait_for(lock, hours(2)), std::cv_status::timeout);
      order.push_back(1);
    }
    later.join();
    waited = clock.now() - start;
  }),
            RunEnd::kEnded);
  EXPECT_EQ(order, (std::vector<int>{1, 2}));
  EXPECT_GE(waited, hours(3));
  EXPECT_LT(waited, hours(3) + milliseconds(1));
}

TEST(VirtualThreads, ANotifiedWaitHasNotTimedOut) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    Trace trace;
    VirtualThreads threads({.seed = seed, .spurious_wake = 0.2}, trace);
    EXPECT_EQ(threads.run([&] {
      std::mutex mutex;
      std::condition_variable changed;
      bool ready = false;
      std::thread other([&] {
        const std::scoped_lock lock(mutex);
        ready = true;
        changed.notify_one();
      });
      {
        std::unique_lock lock(mutex);
        EXPECT_TRUE(changed.wait_for(lock, hours(1), [&] { return ready; }));
      }
      other.join();
    }),
              RunEnd::kEnded);
    EXPECT_LT(threads.now().time_since_epoch(), std::chrono::seconds(1001));
  }
}

TEST(VirtualThreads, AKilledProcessStandsStillWhateverItHolds) {
  Trace trace;
  VirtualThreads threads({.seed = 3}, trace);
  int64_t count = 0;
  const auto body = [&] {
    std::mutex own;
    const auto work = [&] {
      for (int i = 0; i < 100; ++i) {
        const std::scoped_lock lock(own);
        ++count;
      }
    };
    std::thread other(work);
    work();
    other.join();
  };
  EXPECT_EQ(threads.run(body, 50), RunEnd::kKilled);
  EXPECT_EQ(threads.steps(), 50);
  const int64_t reached = count;
  EXPECT_LT(reached, 200);
  count = 0;
  EXPECT_EQ(threads.run(body), RunEnd::kEnded);
  EXPECT_EQ(count, 200);  // no other thread counted

  EXPECT_EQ(threads.run([&] {
    std::thread other([&] { VirtualThreads::of_this_thread()->kill(); });
    other.join();
  }),
            RunEnd::kKilled);
}

TEST(VirtualThreads, ARunThatNeverEndsIsEnded) {
  Trace trace;
  VirtualThreads threads({.steps_max = 1000}, trace);
  EXPECT_EQ(threads.run([&] {
    std::mutex mutex;
    for (;;)
      const std::scoped_lock lock(mutex);
  }),
            RunEnd::kTooLong);

  VirtualThreads slow({.time_max = hours(1)}, trace);
  EXPECT_EQ(slow.run([&] {
    std::mutex mutex;
    std::condition_variable never;
    std::unique_lock lock(mutex);
    for (;;)
      never.wait_for(lock, std::chrono::minutes(1));
  }),
            RunEnd::kTooLong);
}

TEST(VirtualThreads, AThreadLeftBehindIsReported) {
  Trace trace;
  VirtualThreads threads({.seed = 4}, trace);
  std::mutex mutex;
  std::condition_variable never;
  std::unique_ptr<std::thread> left;
  EXPECT_EQ(threads.run([&] {
    left = std::make_unique<std::thread>([&] {
      std::unique_lock lock(mutex);
      for (;;)
        never.wait(lock);
    });
  }),
            RunEnd::kThreadsLeft);
  static std::thread* const standing = left.release();  // where it stood, for ever
  EXPECT_TRUE(standing->joinable());
}

TEST_P(VirtualThreadsTest, AStopCallbackThatRunsIsWaitedFor) {
  int waited = 0;
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE(seed);
    Trace trace;
    VirtualThreads threads({.seed = seed, .interleaving = GetParam()}, trace);
    bool began = false;
    bool ended = false;
    const RunEnd end = threads.run([&] {
      std::mutex mutex;
      std::stop_source source;
      std::optional<std::stop_callback<std::function<void()>>> callback;
      callback.emplace(source.get_token(), [&] {
        began = true;
        for (int i = 0; i < 3; ++i)
          const std::scoped_lock lock(mutex);
        ended = true;
      });
      std::thread stopper([&] { source.request_stop(); });
      for (int i = 0; i < 3; ++i)
        const std::scoped_lock lock(mutex);
      const bool runs = began && !ended;
      callback.reset();
      if (runs) {
        EXPECT_TRUE(ended);
        ++waited;
      }
      stopper.join();
    });
    ASSERT_EQ(end, RunEnd::kEnded) << threads.standing();
  }
  EXPECT_GT(waited, 0);
}

TEST(VirtualThreads, OutsideARunEverythingIsAsItWas) {
  std::mutex mutex;
  std::condition_variable changed;
  bool ready = false;
  std::thread other([&] {
    const std::scoped_lock lock(mutex);
    ready = true;
    changed.notify_all();
  });
  {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return ready; });
    EXPECT_EQ(changed.wait_for(lock, milliseconds(1)), std::cv_status::timeout);
  }
  other.join();
  EXPECT_EQ(VirtualThreads::of_this_thread(), nullptr);
}

}  // namespace
}  // namespace windrow::simulate
