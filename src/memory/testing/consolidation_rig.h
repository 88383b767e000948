// What tests of whole runs of a consolidation share: answers by topic (topic_consolidator.h), a run
// beside which the test answers the model's calls, and one that is waited for.
#pragma once

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "async/executor.h"
#include "base/clock.h"
#include "memory/consolidation/consolidation.h"
#include "memory/testing/queued_models.h"
#include "memory/testing/test_bank.h"
#include "memory/testing/topic_consolidator.h"

namespace windrow::memory::testing {

inline ChatOutcome by_topic(const ChatCall& call) {
  return ChatReply{.text = consolidate_topics(call.user), .truncated = false, .usage = {}};
}

inline llm::Failure failure(llm::FailureClass of, int32_t status,
                            std::string message = "it failed") {
  return {.failure_class = of, .status = status, .code = "test", .message = std::move(message)};
}

inline std::vector<std::string> texts_of(const std::vector<Memory>& memories) {
  std::vector<std::string> texts;
  for (const Memory& memory : memories)
    texts.push_back(memory.text);
  return texts;
}

// Each look at it moves it on by a second, so that nothing waits long.
class HurryingClock final : public Clock {
 public:
  TimePoint now() const override { return TimePoint(std::chrono::seconds(++seconds_)); }
  int64_t unix_seconds() const override { return 1'700'000'000 + seconds_.load(); }

 private:
  mutable std::atomic<int64_t> seconds_ = 0;
};

// One run on a thread of its own, beside which the test answers the model's calls.
class LiveRun {
 public:
  LiveRun(TestBank& bank, QueuedModels& models, const Clock& clock, BankConfig config = {},
          ConsolidationListener listener = {})
      : models_(models), listener_(std::move(listener)), thread_([this, &bank, &clock, config] {
          report_ = consolidate(bank.store(), models_, executor_, clock,
                                {.config = config,
                                 .caller = {},
                                 .in_flight_max = config.consolidation_llm_parallelism,
                                 .bank = "test",
                                 .new_id = {}},
                                listener_, cancel_.get_token());
          ended_ = true;
          models_.notify();
        }) {}
  ~LiveRun() {
    if (thread_.joinable()) thread_.join();
  }
  LiveRun(const LiveRun&) = delete;
  LiveRun& operator=(const LiveRun&) = delete;

  // Whether a call waits; false: the run has ended.
  bool next_call(size_t calls = 1) {
    return models_.wait_for(calls, [this] { return ended_.load(); });
  }

  ConsolidationReport finish() {
    thread_.join();
    return report_;
  }

  void cancel() { cancel_.request_stop(); }

 private:
  QueuedModels& models_;
  const ConsolidationListener listener_;
  async::Executor executor_{3};
  std::stop_source cancel_;
  std::atomic<bool> ended_ = false;
  ConsolidationReport report_;
  std::thread thread_;
};

inline ConsolidationReport run_through(TestBank& bank, QueuedModels& models,
                                       const BankConfig& config = {}) {
  const HurryingClock clock;
  async::Executor executor(3);
  return consolidate(bank.store(), models, executor, clock,
                     {.config = config,
                      .caller = {},
                      .in_flight_max = config.consolidation_llm_parallelism,
                      .bank = "test",
                      .new_id = {}},
                     {}, {});
}

}  // namespace windrow::memory::testing
