#include "app/commands/serve_control.h"

#include <chrono>
#include <utility>

namespace windrow::app {
namespace {

constexpr std::chrono::seconds kKeyReadPeriod(5);

}  // namespace

void StopState::set(bool& state) {
  const std::scoped_lock lock(mutex_);
  state = true;
  changed_.notify_all();
}

void StopState::wait_for_request() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return stop_ || stop_now_; });
}

bool StopState::wait_until_stopped() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return stopped_ || stop_now_; });
  return stopped_;
}

bool StopState::wait_until_stopped(Duration at_most) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, at_most, [this] { return stopped_; });
}

void Reload::set(std::function<void()> action) {
  const std::scoped_lock lock(mutex_);
  action_ = std::move(action);
}

void Reload::run() {
  const std::scoped_lock lock(mutex_);
  if (action_) action_();
}

int64_t ArrivingRequests::count() const {
  const std::scoped_lock lock(mutex_);
  return server_ == nullptr ? 0 : server_->arriving();
}

void ArrivingRequests::set(const api::ApiServer* server) {
  const std::scoped_lock lock(mutex_);
  server_ = server;
}

ArrivingRequests::Source::Source(ArrivingRequests& arriving, const api::ApiServer& server)
    : arriving_(arriving) {
  arriving_.set(&server);
}

ArrivingRequests::Source::~Source() {
  arriving_.set(nullptr);
}

KeyWatch::KeyWatch(std::unique_ptr<api::KeyFile> file,
                   std::function<void(const Result<bool>&)> on_change)
    : file_(std::move(file)),
      on_change_(std::move(on_change)),
      thread_([this](const std::stop_token& stop) { watch(stop); }) {}

KeyWatch::~KeyWatch() = default;

void KeyWatch::read_now() {
  const std::scoped_lock lock(mutex_);
  read_now_ = true;
  requested_.notify_all();
}

void KeyWatch::watch(const std::stop_token& stop) {
  while (true) {
    {
      std::unique_lock lock(mutex_);
      requested_.wait_for(lock, stop, kKeyReadPeriod, [this] { return read_now_; });
      read_now_ = false;
    }
    if (stop.stop_requested()) return;
    const Result<bool> changed = file_->refresh();
    if (!changed || *changed) on_change_(changed);
  }
}

}  // namespace windrow::app
