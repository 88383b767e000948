// What changes a running server from outside: signals that stop it, SIGHUP and the file of keys.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>

#include "api/api_server.h"
#include "api/keys/keys.h"
#include "base/clock.h"
#include "base/result.h"

namespace windrow::app {

// StopState: how far the stop of a server has come. The main thread waits in it. Thread-safe.
class StopState {
 public:
  // Stop when requests in flight have ended; stop at once; the server has stopped.
  void request_stop() { set(stop_); }
  void request_stop_now() { set(stop_now_); }
  void set_stopped() { set(stopped_); }

  // Blocks until either stop was requested.
  void wait_for_request();

  // Blocks until the server has stopped (true) or is to stop at once (false).
  bool wait_until_stopped();

  // Blocks for at most so long; true: the server has stopped.
  bool wait_until_stopped(Duration at_most);

 private:
  void set(bool& state);

  std::mutex mutex_;
  std::condition_variable changed_;
  bool stop_ = false;
  bool stop_now_ = false;
  bool stopped_ = false;
};

// Reload: what SIGHUP does, which may come before there is anything to read again. Thread-safe.
class Reload {
 public:
  // `action` runs at each reload from now on, one at a time; empty: nothing does. Waits for one
  // that is running.
  void set(std::function<void()> action);

  void run();

 private:
  std::mutex mutex_;
  std::function<void()> action_;
};

// ArrivingRequests: how many requests a server is just reading; 0 while there is no server.
// Thread-safe.
class ArrivingRequests {
 public:
  int64_t count() const;

  // Counts those of one server, while this lives.
  class Source {
   public:
    Source(ArrivingRequests& arriving, const api::ApiServer& server);
    ~Source();
    Source(const Source&) = delete;
    Source& operator=(const Source&) = delete;

   private:
    ArrivingRequests& arriving_;
  };

 private:
  void set(const api::ApiServer* server);

  mutable std::mutex mutex_;
  const api::ApiServer* server_ = nullptr;
};

// KeyWatch: reads the file of keys again on request and every few seconds, so that a key that was
// revoked is refused soon. Has a thread of its own.
class KeyWatch {
 public:
  // `on_change` is called with every change and every error, on the watch's thread.
  KeyWatch(std::unique_ptr<api::KeyFile> file, std::function<void(const Result<bool>&)> on_change);
  ~KeyWatch();
  KeyWatch(const KeyWatch&) = delete;
  KeyWatch& operator=(const KeyWatch&) = delete;

  // Any thread; returns at once.
  void read_now();

 private:
  void watch(const std::stop_token& stop);

  const std::unique_ptr<api::KeyFile> file_;
  const std::function<void(const Result<bool>&)> on_change_;
  std::mutex mutex_;
  std::condition_variable_any requested_;
  bool read_now_ = false;
  std::jthread thread_;
};

}  // namespace windrow::app
