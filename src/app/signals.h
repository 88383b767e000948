// SignalWatch: SIGINT, SIGTERM and SIGHUP as calls on an ordinary thread. The first asks for an
// end, the second for an end at once, a third does what the system does by default. One that the
// process ignored when it started (nohup) stays ignored. A server takes SIGHUP for "read your files
// again" instead, as often as it comes.
#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <thread>

namespace windrow::app {

// Make it before any other thread: it blocks the signals in the calling thread, and threads started
// later inherit that. While it lives SIGPIPE and SIGXFSZ are ignored, so that a closed pipe and a
// file size limit come back as errors of the write. One at a time in a process.
class SignalWatch {
 public:
  // `on_stop` gets the name of the signal ("SIGINT"); both are called on the watch's own thread, at
  // most once each, and must return soon. `on_reload`: what SIGHUP does; empty: it stops. Throws
  // std::system_error where the process may open no further descriptor.
  SignalWatch(std::function<void(std::string_view)> on_stop, std::function<void()> on_stop_now,
              std::function<void()> on_reload = {});

  // Signals are again what they were before.
  ~SignalWatch();
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

 private:
  struct Previous;

  void watch(const std::stop_token& stop);

  std::function<void(std::string_view)> on_stop_;
  std::function<void()> on_stop_now_;
  std::function<void()> on_reload_;
  std::unique_ptr<Previous> previous_;
  int descriptor_ = -1;  // of signals
  int wake_ = -1;        // of the destructor
  std::jthread thread_;
};

}  // namespace windrow::app
