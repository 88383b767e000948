// ServiceManager: what systemd wants to hear of a service (sd_notify's protocol: lines in datagrams
// to the socket that NOTIFY_SOCKET names). Without that variable nothing is said to anybody.
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

// Thread-safe. What nobody takes is dropped: a service does not fail for it.
class ServiceManager {
 public:
  explicit ServiceManager(const Environment& environment);

  void ready(std::string_view status);
  void reloading(TimePoint now, std::string_view status);  // ready() again says that it is over
  void stopping(std::string_view status);
  void status(std::string_view text);

  // How often it wants a sign of life; nothing: it does not watch this process.
  std::optional<Duration> watchdog_time() const { return watchdog_time_; }

  void alive() { send("WATCHDOG=1\n"); }

 private:
  void send(std::string_view text) const;

  const std::string socket_;  // empty: there is nobody
  std::optional<Duration> watchdog_time_;
};

// Gives a sign of life twice in the time that the service manager wants one, as long as it lives.
class Watchdog {
 public:
  // `ask` is called on a thread of its own and calls what it is given as soon as the server gets to
  // it: what does not, is not alive. `service` outlives both.
  Watchdog(ServiceManager& service, std::function<void(std::function<void()> alive)> ask);

 private:
  std::mutex mutex_;
  std::condition_variable_any ended_;
  std::jthread thread_;
};

}  // namespace windrow::app
