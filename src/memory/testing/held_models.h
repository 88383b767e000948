// HeldModels: other models, whose answers come when a test says so and in the order that it wants.
// RandomAnswers gives them in a random order on a thread of its own.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/random.h"
#include "memory/models/memory_models.h"

namespace windrow::memory::testing {

// Thread-safe. Calls whose token is stopped end at once. All calls have ended when it is destroyed.
class HeldModels final : public MemoryModels {
 public:
  // `key_of` names what a chat is for, such as its scope: calls in flight are counted for each.
  explicit HeldModels(MemoryModels& inner, std::function<std::string(const ChatCall&)> key_of = {})
      : inner_(inner), key_of_(std::move(key_of)) {}

  // --- for the test ---

  // Calls that wait for their answer: chats and embeddings, the oldest first.
  size_t waiting() const {
    const std::scoped_lock lock(mutex_);
    return calls_.size();
  }

  // Waits until so many calls wait, or until the time is over; whether they do.
  bool wait_for(size_t calls, std::chrono::milliseconds time) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, time, [&] { return calls_.size() >= calls; });
  }

  // Answers one of the calls that wait, on this thread. False: there is no such call any more.
  bool answer(size_t index = 0) {
    uint64_t id = 0;
    {
      const std::scoped_lock lock(mutex_);
      if (index >= calls_.size()) return false;
      id = std::next(calls_.begin(), static_cast<ptrdiff_t>(index))->id;
    }
    return end(id, [](const Call& call) { call.answer(); });
  }

  // Chats in flight at a time, at most so far: of all, and of one key.
  int32_t in_flight_max() const { return most_of(""); }
  int32_t in_flight_max_of(const std::string& key) const { return most_of(key); }

  // --- MemoryModels ---

  void chat(ChatCall call, std::stop_token unwanted,
            std::function<void(ChatOutcome)> done) override {
    const std::string key = key_of_ ? key_of_(call) : "";
    auto shared_done = std::make_shared<std::function<void(ChatOutcome)>>(std::move(done));
    hold({.id = 0,
          .answer =
              [this, call = std::move(call), unwanted, shared_done, key] {
                change_in_flight(key, -1);
                inner_.chat(call, unwanted, *shared_done);
              },
          .cancel =
              [this, shared_done, key] {
                change_in_flight(key, -1);
                (*shared_done)(cancelled());
              }},
         unwanted, [this, key] { change_in_flight(key, 1); });
  }

  void embed(std::string_view model, std::vector<std::string> texts, const ModelCaller& caller,
             std::stop_token unwanted, std::function<void(EmbedOutcome)> done) override {
    auto shared_done = std::make_shared<std::function<void(EmbedOutcome)>>(std::move(done));
    hold({.id = 0,
          .answer = [this, model = std::string(model), texts = std::move(texts), caller, unwanted,
                     shared_done] { inner_.embed(model, texts, caller, unwanted, *shared_done); },
          .cancel = [shared_done] { (*shared_done)(cancelled()); }},
         unwanted, [] {});
  }

  std::optional<llm::Failure> chat_fault(std::string_view model) override {
    return inner_.chat_fault(model);
  }
  std::optional<llm::Failure> embed_fault(std::string_view model) override {
    return inner_.embed_fault(model);
  }
  std::string embed_model_name(std::string_view model) override {
    return inner_.embed_model_name(model);
  }
  int64_t count_tokens(std::string_view text) override { return inner_.count_tokens(text); }

 private:
  struct Call {
    uint64_t id = 0;
    std::function<void()> answer;
    std::function<void()> cancel;
  };
  using StopCallback = std::stop_callback<std::function<void()>>;

  static llm::Failure cancelled() {
    return {.failure_class = llm::FailureClass::kCancelled,
            .status = 499,
            .code = "cancelled",
            .message = "the call is not wanted any more"};
  }

  void hold(Call call, const std::stop_token& unwanted, const std::function<void()>& counted) {
    const uint64_t id = ++ids_;
    call.id = id;
    counted();
    {
      const std::scoped_lock lock(mutex_);
      calls_.push_back(std::move(call));
    }
    changed_.notify_all();
    // Kept until the end: a callback may be running when its call is answered.
    auto callback = std::make_unique<StopCallback>(
        unwanted, [this, id] { end(id, [](const Call& ended) { ended.cancel(); }); });
    const std::scoped_lock lock(mutex_);
    callbacks_.push_back(std::move(callback));
  }

  // Takes the call, if it still waits, and ends it without the lock.
  bool end(uint64_t id, const std::function<void(const Call&)>& how) {
    std::list<Call> taken;
    {
      const std::scoped_lock lock(mutex_);
      const auto found = std::ranges::find(calls_, id, &Call::id);
      if (found == calls_.end()) return false;
      taken.splice(taken.begin(), calls_, found);
    }
    how(taken.front());
    return true;
  }

  void change_in_flight(const std::string& key, int32_t by) {
    const std::scoped_lock lock(mutex_);
    for (const std::string& one :
         key.empty() ? std::vector{key} : std::vector{key, std::string()}) {
      Count& count = counts_[one];
      count.now += by;
      count.most = std::max(count.most, count.now);
    }
  }

  int32_t most_of(const std::string& key) const {
    const std::scoped_lock lock(mutex_);
    const auto found = counts_.find(key);
    return found == counts_.end() ? 0 : found->second.most;
  }

  struct Count {
    int32_t now = 0;
    int32_t most = 0;
  };

  MemoryModels& inner_;
  const std::function<std::string(const ChatCall&)> key_of_;
  std::atomic<uint64_t> ids_ = 0;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::list<Call> calls_;
  std::map<std::string, Count> counts_;  // "": all
  std::vector<std::unique_ptr<StopCallback>> callbacks_;
};

// Answers calls in a random order until it is destroyed. While none waits it calls `idle`, which
// may let time pass.
class RandomAnswers {
 public:
  RandomAnswers(HeldModels& models, uint64_t seed, std::function<void()> idle)
      : thread_([&models, seed, idle = std::move(idle)](const std::stop_token& stop) {
          Random random(seed);
          while (!stop.stop_requested()) {
            // Sometimes others may arrive before the choice.
            const size_t wanted = 1 + random.below(3);
            if (!models.wait_for(wanted, std::chrono::milliseconds(1)) && models.waiting() == 0) {
              idle();
              continue;
            }
            models.answer(random.below(std::max<size_t>(models.waiting(), 1)));
          }
        }) {}

 private:
  std::jthread thread_;
};

}  // namespace windrow::memory::testing
