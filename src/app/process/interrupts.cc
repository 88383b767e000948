#include "app/process/interrupts.h"

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

sigset_t interrupt_signal() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  return set;
}

}  // namespace

InterruptWatch::InterruptWatch() {
  std::signal(SIGPIPE, SIG_IGN);
  const sigset_t set = interrupt_signal();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  descriptor_ = signalfd(-1, &set, SFD_CLOEXEC);
  wake_ = eventfd(0, EFD_CLOEXEC);
  if (descriptor_ < 0 || wake_ < 0) throw std::system_error(errno, std::generic_category());
  thread_ = std::jthread([this](const std::stop_token& stop) { watch(stop); });
}

InterruptWatch::~InterruptWatch() {
  thread_.request_stop();
  const uint64_t one = 1;
  // An eventfd that is at 0 takes a 1.
  [[maybe_unused]] const ssize_t written = write(wake_, &one, sizeof(one));
  thread_.join();
  close(descriptor_);
  close(wake_);
  const sigset_t set = interrupt_signal();
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  std::signal(SIGPIPE, SIG_DFL);
}

void InterruptWatch::set(std::function<void()> action) {
  const std::scoped_lock lock(mutex_);
  action_ = std::move(action);
}

void InterruptWatch::watch(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    std::array<pollfd, 2> ready = {pollfd{descriptor_, POLLIN, 0}, pollfd{wake_, POLLIN, 0}};
    if (poll(ready.data(), ready.size(), -1) < 0 || (ready[0].revents & POLLIN) == 0) continue;
    signalfd_siginfo signal{};
    if (read(descriptor_, &signal, sizeof(signal)) != sizeof(signal)) continue;
    const std::scoped_lock lock(mutex_);
    if (action_) action_();
  }
}

}  // namespace windrow::app
