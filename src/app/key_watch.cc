#include "app/key_watch.h"

#include <chrono>
#include <utility>

namespace windrow::app {
namespace {

constexpr std::chrono::seconds kBetweenLooks(5);

}  // namespace

KeyWatch::KeyWatch(std::unique_ptr<api::KeyFile> file,
                   std::function<void(const Result<bool>&)> told)
    : file_(std::move(file)),
      told_(std::move(told)),
      thread_([this](const std::stop_token& stop) { watch(stop); }) {}

KeyWatch::~KeyWatch() = default;

void KeyWatch::read_now() {
  const std::scoped_lock lock(mutex_);
  read_now_ = true;
  asked_.notify_all();
}

void KeyWatch::watch(const std::stop_token& stop) {
  while (true) {
    {
      std::unique_lock lock(mutex_);
      asked_.wait_for(lock, stop, kBetweenLooks, [this] { return read_now_; });
      read_now_ = false;
    }
    if (stop.stop_requested()) return;
    const Result<bool> changed = file_->refresh();
    if (!changed || *changed) told_(changed);
  }
}

}  // namespace windrow::app
