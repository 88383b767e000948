// HeldBackend: a backend that keeps what it is given until the test answers it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "llm/backend.h"
#include "llm/stream_sink.h"

namespace windrow::dispatch::testing {

class HeldBackend final : public llm::Backend {
 public:
  // Called in the middle of a submit: the request was handed over and is not yet in.
  std::function<void()> before_submit = [] {};

  void read_ahead(llm::Request&) override { ++read_ahead_; }

  // How many requests it was shown ahead of their turn.
  int read_ahead_count() const { return read_ahead_; }

  void submit(llm::Request request, Done done) override {
    before_submit();
    const std::scoped_lock lock(mutex_);
    auto watch = std::make_shared<Watch>(request.unwanted, [this] { ++unwanted_; });
    held_.push_back({std::move(request), std::move(done), std::move(watch)});
    changed_.notify_all();
  }

  // Ends, as a backend does soon by itself, what nobody wants any more; how many those were.
  size_t end_unwanted() {
    std::deque<Held> ended;
    {
      const std::scoped_lock lock(mutex_);
      for (auto held = held_.begin(); held != held_.end();) {
        if (!held->request.unwanted.stop_requested()) {
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

  // How often it was told that nobody wants an answer any more.
  int unwanted() const { return unwanted_; }

  // Says a bit of the answer to the request that is here longest.
  void say(std::string text) {
    std::shared_ptr<llm::StreamSink> listener;
    {
      const std::scoped_lock lock(mutex_);
      listener = held_.front().request.listener;
    }
    llm::Delta piece;
    piece.text = std::move(text);
    listener->on_delta(std::move(piece));
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
    next.done(outcome_of(next.request));
  }

  // Their models, by which tests tell requests apart.
  std::vector<std::string> names() const {
    const std::scoped_lock lock(mutex_);
    std::vector<std::string> names;
    names.reserve(held_.size());
    for (const Held& held : held_)
      names.push_back(held.request.model);
    return names;
  }

  void cancel_waiting() override { cancel_all(); }

  void cancel_all() override {
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
    llm::Request request;
    Done done;
    std::shared_ptr<Watch> watch;
  };

  std::atomic<int> unwanted_ = 0;
  std::atomic<int> read_ahead_ = 0;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Held> held_;
};

inline llm::Failure failure(llm::FailureClass failure_class) {
  return llm::Failure{.failure_class = failure_class, .status = 500};
}

}  // namespace windrow::dispatch::testing
