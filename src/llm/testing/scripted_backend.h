// ScriptedBackend: answers from a function of the request, either on a thread of its own or when a
// test says so. It keeps the promises of llm::Backend, so what works with it works with an engine.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include "base/random.h"
#include "llm/backend.h"

namespace windrow::llm::testing {

struct ScriptedOptions {
  // Rows in the batch at a time: the oldest unanswered ones. The others wait.
  int32_t rows_max = 4;

  // No thread: nothing is answered but by pump().
  bool pumped = false;

  // Called on the thread that answers a call, before the script; may block.
  std::function<void(const BackendCall&)> before_answer;

  // Which of the running rows ends next is drawn from this; without it, the oldest does.
  std::optional<uint64_t> order_seed;
};

class ScriptedBackend final : public Backend {
 public:
  using Script = std::function<Outcome(const Request&)>;

  explicit ScriptedBackend(Script script, ScriptedOptions options = {})
      : script_(std::move(script)),
        options_(std::move(options)),
        random_(options_.order_seed.value_or(0)) {
    if (!options_.pumped) thread_ = std::thread([this] { answer_until_ended(); });
  }

  ScriptedBackend(const ScriptedBackend&) = delete;
  ScriptedBackend& operator=(const ScriptedBackend&) = delete;

  ~ScriptedBackend() override {
    {
      const std::scoped_lock lock(mutex_);
      for (Pending& pending : pending_)
        pending.cancelled = true;
      ended_ = true;
      changed_.notify_all();
    }
    if (thread_.joinable()) thread_.join();
    while (finish_one(true)) {
    }
  }

  void submit(BackendCall call, Done done) override {
    int64_t number = 0;
    std::unique_ptr<Watch> watch;
    const BackendCall tokens{.withdrawn = call.withdrawn, .unwanted = call.unwanted};
    {
      const std::scoped_lock lock(mutex_);
      number = ++submitted_;
      pending_.push_back({.number = number, .call = std::move(call), .done = std::move(done)});
      changed_.notify_all();
    }
    // May call back here.
    watch = std::make_unique<Watch>(*this, number, tokens);
    const std::scoped_lock lock(mutex_);
    if (const auto row = find(number); row != pending_.end()) row->watch = std::move(watch);
  }

  int32_t in_flight_target() const override { return 2 * options_.rows_max; }

  BackendStats stats() const override {
    const std::scoped_lock lock(mutex_);
    const auto pending = static_cast<int32_t>(pending_.size());
    BackendStats stats;
    stats.rows_running = std::min(pending, options_.rows_max);
    stats.rows_waiting = pending - stats.rows_running;
    return stats;
  }

  // --- for tests ---

  // Answers one running row on this thread; false when there is none.
  bool pump() { return finish_one(false); }

  // Blocks until so many rows were submitted in all, or are unanswered now.
  void wait_for_submitted(int64_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return submitted_ >= count; });
  }
  void wait_for_pending(size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return pending_.size() == count; });
  }

  int64_t submitted() const {
    const std::scoped_lock lock(mutex_);
    return submitted_;
  }

 private:
  struct Stopped {
    ScriptedBackend* backend;
    int64_t number;
    bool running_too;
    void operator()() const { backend->cancel(number, running_too); }
  };

  struct Watch {
    Watch(ScriptedBackend& backend, int64_t number, const BackendCall& tokens)
        : withdrawn(tokens.withdrawn, Stopped{&backend, number, false}),
          unwanted(tokens.unwanted, Stopped{&backend, number, true}) {}

    std::stop_callback<Stopped> withdrawn;
    std::stop_callback<Stopped> unwanted;
  };

  struct Pending {
    int64_t number = 0;
    BackendCall call;
    Done done;
    bool cancelled = false;
    std::unique_ptr<Watch> watch = nullptr;
  };

  std::vector<Pending>::iterator find(int64_t number) {
    return std::ranges::find(pending_, number, &Pending::number);
  }

  void cancel(int64_t number, bool running_too) {
    {
      const std::scoped_lock lock(mutex_);
      const auto row = find(number);
      if (row == pending_.end()) return;
      if (!running_too && row - pending_.begin() < options_.rows_max) return;
      row->cancelled = true;
      changed_.notify_all();
    }
    if (!options_.pumped) return;
    while (finish_one(true)) {
    }
  }

  // The next row to end; under the mutex.
  std::optional<Pending> take(bool only_cancelled) {
    const auto cancelled = std::find_if(pending_.begin(), pending_.end(),
                                        [](const Pending& row) { return row.cancelled; });
    auto found = cancelled;
    if (found == pending_.end() && !only_cancelled && !pending_.empty()) {
      const size_t running =
          std::min(pending_.size(), static_cast<size_t>(std::max(options_.rows_max, 1)));
      const size_t at = options_.order_seed ? random_.below(running) : 0;
      found = pending_.begin() + static_cast<std::ptrdiff_t>(at);
    }
    if (found == pending_.end()) return std::nullopt;
    Pending row = std::move(*found);
    pending_.erase(found);
    changed_.notify_all();
    return row;
  }

  bool finish_one(bool only_cancelled) {
    std::optional<Pending> row;
    {
      const std::scoped_lock lock(mutex_);
      row = take(only_cancelled);
    }
    if (!row) return false;
    row->watch = nullptr;
    if (row->cancelled) {
      row->done(Failure{.failure_class = FailureClass::kCancelled,
                        .status = 499,
                        .code = "cancelled",
                        .message = "cancelled"});
    } else {
      if (options_.before_answer) options_.before_answer(row->call);
      row->done(script_(*row->call.request));
    }
    return true;
  }

  void answer_until_ended() {
    for (;;) {
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return ended_ || !pending_.empty(); });
        if (ended_) return;
      }
      finish_one(false);
    }
  }

  const Script script_;
  const ScriptedOptions options_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Pending> pending_;
  int64_t submitted_ = 0;
  bool ended_ = false;
  Random random_;
  std::thread thread_;
};

}  // namespace windrow::llm::testing
