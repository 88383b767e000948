// TalkingBackend: keeps the requests it is given until a test lets it speak. A request that is
// wanted no more ends by itself, as with an engine.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <list>
#include <mutex>
#include <stop_token>
#include <utility>

#include "llm/backend.h"
#include "llm/stream_sink.h"

namespace windrow::api::testing {

class TalkingBackend final : public llm::Backend {
 public:
  ~TalkingBackend() override { end_all(); }

  // Called in the middle of a submit: the request was handed over and is not yet in.
  std::function<void()> before_submit = [] {};

  void submit(llm::BackendCall call, Done done) override {
    before_submit();
    const std::scoped_lock lock(mutex_);
    held_.push_back({std::move(call), std::move(done)});
    ++submitted_;
    changed_.notify_all();
  }

  int32_t in_flight_target() const override { return 1000; }
  llm::BackendStats stats() const override { return {}; }

  // --- for tests ---

  // Blocks until so many were submitted in all; what the last of them asks, or the whole call.
  llm::Request wait_for(size_t count) { return *wait_for_call(count).request; }
  llm::BackendCall wait_for_call(size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return submitted_ >= count; });
    return held_.empty() ? llm::plain_call({}) : held_.back().call;
  }

  // Ends all that is held.
  void end_all() {
    std::list<Held> held;
    {
      const std::scoped_lock lock(mutex_);
      held.swap(held_);
    }
    for (const Held& one : held)
      one.done(cancelled());
  }

  size_t submitted() {
    const std::scoped_lock lock(mutex_);
    return submitted_;
  }

  // To the listener of the oldest one.
  void say(llm::Delta piece) { held_front().call.listener->on_delta(std::move(piece)); }

  // Ends the oldest one.
  void end(llm::Outcome outcome) {
    Held held = held_front();
    {
      const std::scoped_lock lock(mutex_);
      held_.pop_front();
    }
    held.done(std::move(outcome));
  }

  // Blocks until the oldest one is wanted no more, and ends it; it cost so much until then.
  void wait_unwanted(const llm::Usage& usage = {}) {
    std::mutex mutex;
    std::condition_variable told;
    bool unwanted = false;
    {
      const std::stop_callback stopped(held_front().call.unwanted, [&] {
        const std::scoped_lock lock(mutex);
        unwanted = true;
        told.notify_all();
      });
      std::unique_lock lock(mutex);
      told.wait(lock, [&] { return unwanted; });
    }
    llm::Failure failure = cancelled();
    failure.usage = usage;
    end(std::move(failure));
  }

 private:
  struct Held {
    llm::BackendCall call;
    Done done;
  };

  static llm::Failure cancelled() {
    return {.failure_class = llm::FailureClass::kCancelled, .status = 499};
  }

  Held held_front() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !held_.empty(); });
    return held_.front();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::list<Held> held_;
  size_t submitted_ = 0;
};

}  // namespace windrow::api::testing
