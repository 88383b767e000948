// InterruptWatch: Ctrl-C as a call, each time it is pressed, for a program that goes on after it.
// (SignalWatch in signals.h is for programs that stop.)
#pragma once

#include <functional>
#include <mutex>
#include <stop_token>
#include <thread>

namespace windrow::app {

// Create it before any other thread: it blocks SIGINT in the calling thread, and threads started
// later inherit that. While it lives SIGPIPE is ignored. Its methods may be called on any thread.
class InterruptWatch {
 public:
  // Throws std::system_error where the process may open no further descriptor.
  InterruptWatch();

  // Restores the signals.
  ~InterruptWatch();
  InterruptWatch(const InterruptWatch&) = delete;
  InterruptWatch& operator=(const InterruptWatch&) = delete;

  // What an interrupt does from now on, on the watch's own thread; empty: nothing. Waits for an
  // action that is running, so an action may not call it.
  void set(std::function<void()> action);

 private:
  void watch(const std::stop_token& stop);

  std::mutex mutex_;
  std::function<void()> action_;
  int descriptor_ = -1;  // readable when there is a signal
  int wake_ = -1;        // readable when the destructor has begun
  std::jthread thread_;
};

}  // namespace windrow::app
