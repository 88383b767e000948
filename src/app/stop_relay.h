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

  // Calls at once what was asked before. The functions must work until detach() returned.
  void attach(Target target);
  void detach();

 private:
  mutable std::mutex mutex_;
  Target target_;
  bool stop_ = false;
  bool stop_now_ = false;
};

}  // namespace windrow::app
