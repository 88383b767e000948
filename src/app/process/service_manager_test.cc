#include "app/process/service_manager.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <string>

namespace windrow::app {
namespace {

// What systemd is to a service: a socket that hears datagrams.
class Listening {
 public:
  Listening() : fd_(socket(AF_UNIX, SOCK_DGRAM, 0)) {
    name_ = "windrow-test-" + std::to_string(getpid()) + "-" + std::to_string(fd_);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path + 1, name_.data(), name_.size());
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name_.size());
    EXPECT_EQ(bind(fd_, reinterpret_cast<const sockaddr*>(&address), size), 0);
  }
  ~Listening() { close(fd_); }
  Listening(const Listening&) = delete;
  Listening& operator=(const Listening&) = delete;

  std::string name() const { return "@" + name_; }

  std::string next() const {
    std::array<char, 512> buffer{};
    const ssize_t size = recv(fd_, buffer.data(), buffer.size(), 0);
    return {buffer.data(), size > 0 ? static_cast<size_t>(size) : 0};
  }

  bool is_silent() const {
    pollfd ready{fd_, POLLIN, 0};
    return poll(&ready, 1, 0) == 0;
  }

 private:
  int fd_;
  std::string name_;
};

TEST(ServiceManager, SaysWhatTheServiceIsAt) {
  const Listening systemd;
  ServiceManager service({{"NOTIFY_SOCKET", systemd.name()}});
  service.status("loading\nmodels");
  EXPECT_EQ(systemd.next(), "STATUS=loading models\n");
  service.ready("serving");
  EXPECT_EQ(systemd.next(), "READY=1\nSTATUS=serving\n");
  service.stopping("finishing");
  EXPECT_EQ(systemd.next(), "STOPPING=1\nSTATUS=finishing\n");
  service.reloading(TimePoint(std::chrono::milliseconds(2)), "");
  EXPECT_EQ(systemd.next(), "RELOADING=1\nMONOTONIC_USEC=2000\nSTATUS=\n");
}

TEST(ServiceManager, AMissingServiceManagerIsNoFailure) {
  for (const std::string& name : {std::string(), std::string("@nobody-there"),
                                  std::string("relative"), std::string(200, '/')}) {
    ServiceManager service({{"NOTIFY_SOCKET", name}});
    service.ready("serving");
  }
}

TEST(ServiceManager, SignsOfLifeAreThoseOfTheServer) {
  const Listening systemd;
  ServiceManager service({{"NOTIFY_SOCKET", systemd.name()}, {"WATCHDOG_USEC", "2000"}});
  EXPECT_EQ(service.watchdog_time(), std::chrono::milliseconds(2));
  {
    const Watchdog answered(service, [](const std::function<void()>& alive) { alive(); });
    EXPECT_EQ(systemd.next(), "WATCHDOG=1\n");
    EXPECT_EQ(systemd.next(), "WATCHDOG=1\n");
  }
  while (!systemd.is_silent())
    systemd.next();
  int asked = 0;
  {
    const Watchdog stuck(service, [&](const std::function<void()>&) { ++asked; });
  }
  EXPECT_TRUE(systemd.is_silent());
}

TEST(ServiceManager, OnlyTheProcessThatIsMeantIsWatched) {
  const std::string own = std::to_string(getpid());
  const auto time_of = [](const Environment& environment) {
    return ServiceManager(environment).watchdog_time();
  };
  EXPECT_TRUE(time_of({{"WATCHDOG_USEC", "5"}, {"WATCHDOG_PID", own}}).has_value());
  EXPECT_FALSE(time_of({{"WATCHDOG_USEC", "5"}, {"WATCHDOG_PID", own + "0"}}).has_value());
  EXPECT_FALSE(time_of({{"WATCHDOG_USEC", "soon"}}).has_value());
  EXPECT_FALSE(time_of({}).has_value());
}

}  // namespace
}  // namespace windrow::app
