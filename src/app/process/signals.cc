#include "app/process/signals.h"

#include <fmt/format.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <system_error>
#include <utility>

namespace windrow::app {
namespace {

std::string_view signal_name(uint32_t signal) {
  switch (signal) {
    case SIGINT:
      return "SIGINT";
    case SIGTERM:
      return "SIGTERM";
    default:
      return "SIGHUP";
  }
}

// Signals that nohup, or a script that starts a background process, has set to be ignored stay so.
sigset_t watched_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction action{};
    const bool ignored = sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
    if (!ignored) sigaddset(&set, signal);
  }
  return set;
}

}  // namespace

struct SignalWatch::Previous {
  sigset_t watched{};
  sigset_t mask{};
  struct sigaction pipe{};
  struct sigaction file_size{};
};

SignalWatch::SignalWatch(std::function<void(std::string_view)> on_stop,
                         std::function<void()> on_stop_now, std::function<void()> on_reload)
    : on_stop_(std::move(on_stop)),
      on_stop_now_(std::move(on_stop_now)),
      on_reload_(std::move(on_reload)),
      previous_(std::make_unique<Previous>()) {
  struct sigaction ignore{};
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &ignore, &previous_->pipe);
  sigaction(SIGXFSZ, &ignore, &previous_->file_size);
  previous_->watched = watched_signals();
  pthread_sigmask(SIG_BLOCK, &previous_->watched, &previous_->mask);
  descriptor_ = signalfd(-1, &previous_->watched, SFD_CLOEXEC);
  wake_ = eventfd(0, EFD_CLOEXEC);
  if (descriptor_ < 0 || wake_ < 0) throw std::system_error(errno, std::generic_category());
  thread_ = std::jthread([this](const std::stop_token& stop) { watch(stop); });
}

SignalWatch::~SignalWatch() {
  thread_.request_stop();
  const uint64_t one = 1;
  // An eventfd that is at 0 takes a 1.
  [[maybe_unused]] const ssize_t written = write(wake_, &one, sizeof(one));
  thread_.join();
  close(descriptor_);
  close(wake_);
  pthread_sigmask(SIG_SETMASK, &previous_->mask, nullptr);
  sigaction(SIGPIPE, &previous_->pipe, nullptr);
  sigaction(SIGXFSZ, &previous_->file_size, nullptr);
}

void SignalWatch::watch(const std::stop_token& stop) {
  int seen = 0;
  while (!stop.stop_requested()) {
    std::array<pollfd, 2> ready = {pollfd{descriptor_, POLLIN, 0}, pollfd{wake_, POLLIN, 0}};
    if (poll(ready.data(), ready.size(), -1) < 0 || (ready[0].revents & POLLIN) == 0) continue;
    signalfd_siginfo signal{};
    if (read(descriptor_, &signal, sizeof(signal)) != sizeof(signal)) continue;
    if (signal.ssi_signo == SIGHUP && on_reload_) {
      on_reload_();
      continue;
    }
    ++seen;
    if (seen == 1) {
      on_stop_(signal_name(signal.ssi_signo));
    } else if (seen == 2) {
      on_stop_now_();
    } else {
      // A third signal ends the process as the system would.
      const auto number = static_cast<int>(signal.ssi_signo);
      std::signal(number, SIG_DFL);
      pthread_sigmask(SIG_UNBLOCK, &previous_->watched, nullptr);
      raise(number);
    }
  }
}

void StopRelay::stop() {
  const std::scoped_lock lock(mutex_);
  stop_ = true;
  if (target_.stop) target_.stop();
}

void StopRelay::stop_now() {
  const std::scoped_lock lock(mutex_);
  stop_now_ = true;
  if (target_.stop_now) target_.stop_now();
}

bool StopRelay::stopping() const {
  const std::scoped_lock lock(mutex_);
  return stop_ || stop_now_;
}

StopRelay::Attachment::Attachment(StopRelay& relay, Target target) : relay_(relay) {
  relay_.attach(std::move(target));
}

StopRelay::Attachment::~Attachment() {
  relay_.release_target();
}

void StopRelay::attach(Target target) {
  const std::scoped_lock lock(mutex_);
  target_ = std::move(target);
  if (stop_) target_.stop();
  if (stop_now_) target_.stop_now();
}

void StopRelay::release_target() {
  const std::scoped_lock lock(mutex_);
  target_ = {};
}

}  // namespace windrow::app
