// Signals as calls: SignalWatch receives them, StopRelay passes them to the part of the program
// that has to react at the moment.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string_view>
#include <thread>

namespace windrow::app {

// SignalWatch: calls functions for SIGINT, SIGTERM and SIGHUP. Create it before any other thread:
// it blocks the signals in the calling thread, and threads started later inherit that. While it
// lives SIGPIPE and SIGXFSZ are ignored, so that a closed pipe and a file size limit come back as
// errors of the write. One at a time in a process. Signals that the process ignored before stay
// ignored; a third one does what the system does by default.
class SignalWatch {
 public:
  // `on_stop` gets the name of the signal ("SIGINT"); both are called on the watch's own thread, at
  // most once each, and must return soon. `on_reload`: what SIGHUP does; empty: it stops. Throws
  // std::system_error where the process may open no further descriptor.
  SignalWatch(std::function<void(std::string_view)> on_stop, std::function<void()> on_stop_now,
              std::function<void()> on_reload = {});

  // Restores the signals.
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
  int descriptor_ = -1;  // readable when there is a signal
  int wake_ = -1;        // readable when the destructor has begun
  std::jthread thread_;
};

// StopRelay: remembers that a stop was requested and passes it on to the current target, now or
// when there is one. Thread-safe.
class StopRelay {
 public:
  struct Target {
    std::function<void()> stop;
    std::function<void()> stop_now;
  };

  void stop();
  void stop_now();
  bool stopping() const;

  // Makes `target` the current one for as long as this lives; one at a time. A stop that was
  // requested before is passed on at once.
  class Attachment {
   public:
    // `relay` outlives the attachment.
    Attachment(StopRelay& relay, Target target);
    ~Attachment();
    Attachment(const Attachment&) = delete;
    Attachment& operator=(const Attachment&) = delete;

   private:
    StopRelay& relay_;
  };

 private:
  void attach(Target target);
  void release_target();

  mutable std::mutex mutex_;
  Target target_;
  bool stop_ = false;
  bool stop_now_ = false;
};

}  // namespace windrow::app
