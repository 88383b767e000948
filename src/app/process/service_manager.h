// ServiceManager: reports the state of a server to systemd, by the protocol of sd_notify: lines in
// datagrams to the socket that NOTIFY_SOCKET names. Without that variable it does nothing.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "app/settings/environment.h"
#include "base/clock.h"

namespace windrow::app {

// Thread-safe. A datagram that cannot be sent is dropped.
class ServiceManager {
 public:
  explicit ServiceManager(const Environment& environment);

  void ready(std::string_view status);
  void reloading(TimePoint now, std::string_view status);  // over with the next ready()
  void stopping(std::string_view status);
  void status(std::string_view text);

  // How often it wants a sign of life; absent: it does not watch this process.
  std::optional<Duration> watchdog_time() const { return watchdog_time_; }

  void alive() { send("WATCHDOG=1\n"); }

 private:
  void send(std::string_view text) const;

  const std::string socket_;  // empty: there is no service manager
  std::optional<Duration> watchdog_time_;
};

// Watchdog: gives a sign of life twice in the time in which the service manager wants one.
class Watchdog {
 public:
  // `ask` is called on a thread of its own, with a function that the server has to call as soon as
  // it can: a server that does not is not alive. `service` outlives the watchdog.
  Watchdog(ServiceManager& service, std::function<void(std::function<void()> alive)> ask);

 private:
  std::mutex mutex_;
  std::condition_variable_any ended_;
  std::jthread thread_;
};

}  // namespace windrow::app
