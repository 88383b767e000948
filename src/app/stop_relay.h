// StopRelay: signals come at any time, also before there is a job to stop. The relay remembers what
// was asked and passes it on once there is somebody to hear it. Thread-safe.
#pragma once

#include <functional>
#include <mutex>

namespace windrow::app {

class StopRelay {
 public:
  struct Target {
    std::function<void()> stop;
    std::function<void()> stop_now;
  };

  void stop();
  void stop_now();
  bool stopping() const;

  // Who hears, for as long as this lives; one at a time. Calls at once what was asked before.
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
  void let_go();

  mutable std::mutex mutex_;
  Target target_;
  bool stop_ = false;
  bool stop_now_ = false;
};

}  // namespace windrow::app
