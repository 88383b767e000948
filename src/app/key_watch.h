// KeyWatch: reads the file of keys again when somebody says so, and every few seconds, so that a
// key that was taken away is soon worth nothing. On a thread of its own.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "api/keys/key_file.h"
#include "base/result.h"

namespace windrow::app {

class KeyWatch {
 public:
  // `told` hears of every change and every error, on the watch's thread.
  KeyWatch(std::unique_ptr<api::KeyFile> file, std::function<void(const Result<bool>&)> told);
  ~KeyWatch();
  KeyWatch(const KeyWatch&) = delete;
  KeyWatch& operator=(const KeyWatch&) = delete;

  // Any thread; returns at once.
  void read_now();

 private:
  void watch(const std::stop_token& stop);

  const std::unique_ptr<api::KeyFile> file_;
  const std::function<void(const Result<bool>&)> told_;
  std::mutex mutex_;
  std::condition_variable_any asked_;
  bool read_now_ = false;
  std::jthread thread_;
};

}  // namespace windrow::app
