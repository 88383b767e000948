#include "app/process/service_manager.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <charconv>
#include <cstddef>
#include <cstring>
#include <utility>

namespace windrow::app {
namespace {

// WATCHDOG_USEC, if it is meant for this process.
std::optional<Duration> watchdog_of(const Environment& environment) {
  const auto number = [&](const char* name) {
    const std::string text = variable(environment, name);
    int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size() ? value : 0;
  };
  if (!variable(environment, "WATCHDOG_PID").empty() && number("WATCHDOG_PID") != getpid())
    return std::nullopt;
  const int64_t us = number("WATCHDOG_USEC");
  if (us <= 0) return std::nullopt;
  return std::chrono::microseconds(us);
}

// A status is one line.
std::string in_one_line(std::string_view text) {
  std::string line(text);
  for (char& letter : line) {
    if (letter == '\n' || letter == '\r') letter = ' ';
  }
  return line;
}

}  // namespace

ServiceManager::ServiceManager(const Environment& environment)
    : socket_(variable(environment, "NOTIFY_SOCKET")), watchdog_time_(watchdog_of(environment)) {}

void ServiceManager::ready(std::string_view status) {
  send(fmt::format("READY=1\nSTATUS={}\n", in_one_line(status)));
}

void ServiceManager::reloading(TimePoint now, std::string_view status) {
  const auto us =
      std::chrono::duration_cast<std::chrono::microseconds>(now.time_since_epoch()).count();
  send(fmt::format("RELOADING=1\nMONOTONIC_USEC={}\nSTATUS={}\n", us, in_one_line(status)));
}

void ServiceManager::stopping(std::string_view status) {
  send(fmt::format("STOPPING=1\nSTATUS={}\n", in_one_line(status)));
}

void ServiceManager::status(std::string_view text) {
  send(fmt::format("STATUS={}\n", in_one_line(text)));
}

void ServiceManager::send(std::string_view text) const {
  sockaddr_un address{};
  // '@' stands for the zero byte of the abstract name space.
  if (socket_.empty() || (socket_.front() != '/' && socket_.front() != '@') ||
      socket_.size() >= sizeof(address.sun_path)) {
    return;
  }
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, socket_.data(), socket_.size());
  if (socket_.front() == '@') address.sun_path[0] = '\0';
  const int descriptor = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return;
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket_.size());
  [[maybe_unused]] const ssize_t sent =
      sendto(descriptor, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT,
             reinterpret_cast<const sockaddr*>(&address), size);
  close(descriptor);
}

Watchdog::Watchdog(ServiceManager& service, std::function<void(std::function<void()>)> ask) {
  const std::optional<Duration> time = service.watchdog_time();
  if (!time) return;
  thread_ = std::jthread(
      [this, &service, ask = std::move(ask), pause = *time / 2](const std::stop_token& stop) {
        while (!stop.stop_requested()) {
          ask([&service] { service.alive(); });
          std::unique_lock lock(mutex_);
          ended_.wait_for(lock, stop, pause, [] { return false; });
        }
      });
}

}  // namespace windrow::app
