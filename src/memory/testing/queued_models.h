// QueuedModels: models whose calls wait until a test answers them, or are answered at once by a
// function. It counts what is in flight, in all and by scope of the caller's prompt.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "memory/models/memory_models.h"

namespace windrow::memory::testing {

inline llm::Failure cancelled_call() {
  return {.failure_class = llm::FailureClass::kCancelled,
          .status = 499,
          .code = "cancelled",
          .message = "cancelled",
          .param = {}};
}

// Thread-safe.
class QueuedModels final : public MemoryModels {
 public:
  using Answer = std::function<ChatOutcome(const ChatCall&)>;
  using Embed = std::function<EmbedOutcome(const std::vector<std::string>&)>;

  // `answer`: of calls that are answered without a function of their own. `embed` empty: there is
  // no embedding model.
  explicit QueuedModels(Answer answer, Embed embed = {})
      : answer_(std::move(answer)), embed_(std::move(embed)) {}

  // Calls wait for answer_one() from now on.
  void hold() {
    const std::scoped_lock lock(mutex_);
    holds_ = true;
  }

  // Blocks until so many chats wait, or `ended` (checked at each change).
  bool wait_for(size_t calls, const std::function<bool()>& ended = {}) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return waiting_.size() >= calls || (ended && ended()); });
    return waiting_.size() >= calls;
  }

  // To be called when what `ended` looks at has changed.
  void notify() {
    const std::scoped_lock lock(mutex_);
    changed_.notify_all();
  }

  // Answers the `index`-th of the chats that wait, in the order in which they came.
  void answer_one(size_t index = 0, std::optional<ChatOutcome> outcome = std::nullopt) {
    std::shared_ptr<Waiting> one;
    {
      const std::scoped_lock lock(mutex_);
      one = waiting_.at(index);
      waiting_.erase(waiting_.begin() + static_cast<ptrdiff_t>(index));
    }
    one->end(outcome ? *std::move(outcome) : answer_(one->call));
  }

  // Copies of the calls that wait.
  std::vector<ChatCall> waiting() const {
    const std::scoped_lock lock(mutex_);
    std::vector<ChatCall> calls;
    for (const auto& one : waiting_)
      calls.push_back(one->call);
    return calls;
  }

  // All chats so far.
  std::vector<ChatCall> chats() const {
    const std::scoped_lock lock(mutex_);
    return chats_;
  }

  size_t in_flight_most() const {
    const std::scoped_lock lock(mutex_);
    return most_;
  }

  void chat(ChatCall call, std::stop_token unwanted,
            std::function<void(ChatOutcome)> done) override {
    auto one = std::make_shared<Waiting>();
    one->call = std::move(call);
    one->done = std::move(done);
    bool holds = false;
    {
      const std::scoped_lock lock(mutex_);
      chats_.push_back(one->call);
      holds = holds_;
      if (holds) {
        waiting_.push_back(one);
        most_ = std::max(most_, waiting_.size());
        changed_.notify_all();
      }
    }
    if (!holds) return one->end(answer_(one->call));
    auto cancel = std::make_unique<std::stop_callback<std::function<void()>>>(
        std::move(unwanted), [this, weak = std::weak_ptr(one)] {
          if (const auto cancelled = weak.lock(); cancelled && forget(cancelled))
            cancelled->end(cancelled_call());
        });
    one->keep(std::move(cancel));
  }

  void embed(std::string_view /*model*/, std::vector<std::string> texts,
             const ModelCaller& /*caller*/, std::stop_token /*unwanted*/,
             std::function<void(EmbedOutcome)> done) override {
    done(embed_(texts));
  }

  std::optional<llm::Failure> chat_fault(std::string_view) override { return std::nullopt; }
  std::optional<llm::Failure> embed_fault(std::string_view) override {
    if (embed_) return std::nullopt;
    return llm::Failure{.code = "no_memory_embed_model", .message = "there is none"};
  }
  std::string embed_model_name(std::string_view) override { return embed_ ? "queued" : ""; }
  int64_t count_tokens(std::string_view text) override { return std::ssize(text) / 4 + 1; }

 private:
  struct Waiting {
    using Cancel = std::unique_ptr<std::stop_callback<std::function<void()>>>;

    ChatCall call;
    std::function<void(ChatOutcome)> done;
    std::mutex mutex;
    bool ended = false;
    Cancel cancel;

    void end(ChatOutcome outcome) {
      Cancel last;
      {
        const std::scoped_lock lock(mutex);
        ended = true;
        last = std::move(cancel);
      }
      done(std::move(outcome));
    }
    void keep(Cancel callback) {
      const std::scoped_lock lock(mutex);
      if (!ended) cancel = std::move(callback);
    }
  };

  bool forget(const std::shared_ptr<Waiting>& one) {
    const std::scoped_lock lock(mutex_);
    return std::erase(waiting_, one) > 0;
  }

  const Answer answer_;
  const Embed embed_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::shared_ptr<Waiting>> waiting_;
  std::vector<ChatCall> chats_;
  size_t most_ = 0;
  bool holds_ = false;
};

}  // namespace windrow::memory::testing
