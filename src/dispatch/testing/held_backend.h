// HeldBackend: a backend that keeps what it is given until the test answers it.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "llm/backend.h"
#include "llm/reply_sink.h"
#include "llm/stream_sink.h"

namespace windrow::dispatch::testing {

class HeldBackend final : public llm::Backend {
 public:
  // Called in the middle of a submit: the request was handed over and is not yet in.
  std::function<void()> before_submit = [] {};

  std::shared_ptr<const llm::ReadAhead> read_ahead(const llm::Request&) override {
    ++read_ahead_;
    return nullptr;
  }

  // How many requests it was shown ahead of their turn.
  int read_ahead_count() const { return read_ahead_; }

  // Nothing that is held has started: what is withdrawn ends at once.
  void submit(llm::BackendCall call, Done done) override {
    before_submit();
    const std::stop_token withdrawn = call.withdrawn;
    uint64_t number = 0;
    {
      const std::scoped_lock lock(mutex_);
      number = ++submitted_;
      auto unwanted = std::make_shared<Watch>(call.unwanted, [this] { ++unwanted_; });
      held_.push_back({number, std::move(call), std::move(done), std::move(unwanted), nullptr});
      changed_.notify_all();
    }
    // May call back here.
    auto watch = std::make_shared<Watch>(withdrawn, [this, number] { end_withdrawn(number); });
    const std::scoped_lock lock(mutex_);
    const auto held = std::ranges::find(held_, number, &Held::number);
    if (held != held_.end()) held->withdrawn = std::move(watch);
  }

  // Ends the calls whose tokens were stopped, as a backend does soon by itself. Returns how many.
  size_t end_unwanted() {
    std::deque<Held> ended;
    {
      const std::scoped_lock lock(mutex_);
      for (auto held = held_.begin(); held != held_.end();) {
        if (!held->call.unwanted.stop_requested()) {
          ++held;
          continue;
        }
        ended.push_back(std::move(*held));
        held = held_.erase(held);
      }
    }
    for (const Held& one : ended)
      one.done(llm::Failure{llm::FailureClass::kCancelled});
    return ended.size();
  }

  // How many calls were told that their answers are not wanted any more.
  int unwanted() const { return unwanted_; }

  // Says a bit of the answer to the request that is here longest.
  void say(std::string text) {
    std::shared_ptr<llm::StreamSink> listener;
    {
      const std::scoped_lock lock(mutex_);
      listener = held_.front().call.listener;
    }
    llm::Delta piece;
    piece.text = std::move(text);
    listener->on_delta(std::move(piece));
  }

  // Gives the sink of the request that is here longest some bytes of its reply.
  llm::ReplySink::Take reply(std::string_view bytes) {
    std::shared_ptr<llm::ReplySink> sink;
    {
      const std::scoped_lock lock(mutex_);
      sink = held_.front().call.reply_sink;
    }
    return sink->on_bytes(bytes);
  }

  // Ends the request that is here longest.
  void answer_next(llm::Outcome outcome) {
    answer_next([&](const llm::Request&) { return std::move(outcome); });
  }
  void answer_next(const std::function<llm::Outcome(const llm::Request&)>& outcome_of) {
    Held next;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return !held_.empty(); });
      next = std::move(held_.front());
      held_.pop_front();
    }
    next.withdrawn = nullptr;
    next.done(outcome_of(*next.call.request));
  }

  // Their models, by which tests tell requests apart.
  std::vector<std::string> names() const {
    const std::scoped_lock lock(mutex_);
    std::vector<std::string> names;
    names.reserve(held_.size());
    for (const Held& held : held_)
      names.push_back(held.call.request->model);
    return names;
  }

  // In the order of names().
  std::vector<llm::Priority> priorities() const {
    const std::scoped_lock lock(mutex_);
    std::vector<llm::Priority> priorities;
    priorities.reserve(held_.size());
    for (const Held& held : held_)
      priorities.push_back(held.call.priority);
    return priorities;
  }

  // Ends all that is held, as a backend does that goes.
  void end_all() {
    std::deque<Held> held;
    {
      const std::scoped_lock lock(mutex_);
      held.swap(held_);
    }
    for (const Held& one : held)
      one.done(llm::Failure{llm::FailureClass::kCancelled});
  }

  int32_t in_flight_target() const override { return 2; }
  llm::BackendStats stats() const override { return {}; }

  size_t held() const {
    const std::scoped_lock lock(mutex_);
    return held_.size();
  }

 private:
  using Watch = std::stop_callback<std::function<void()>>;

  struct Held {
    uint64_t number = 0;
    llm::BackendCall call;
    Done done;
    std::shared_ptr<Watch> unwanted;
    std::shared_ptr<Watch> withdrawn;
  };

  void end_withdrawn(uint64_t number) {
    Held ended;
    {
      const std::scoped_lock lock(mutex_);
      const auto held = std::ranges::find(held_, number, &Held::number);
      if (held == held_.end()) return;
      ended = std::move(*held);
      held_.erase(held);
    }
    ended.done(llm::Failure{llm::FailureClass::kCancelled});
  }

  std::atomic<int> unwanted_ = 0;
  std::atomic<int> read_ahead_ = 0;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Held> held_;
  uint64_t submitted_ = 0;
};

inline llm::Failure failure(llm::FailureClass failure_class) {
  return llm::Failure{.failure_class = failure_class, .status = 500};
}

}  // namespace windrow::dispatch::testing
