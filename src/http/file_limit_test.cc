// What clients and loops do when this process may open no more files. The server is another
// process, which has files enough.
#include "http/curl_sockets.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <iterator>
#include <memory>
#include <optional>
#include <ostream>
#include <string_view>
#include <system_error>

#include "http/curl_client.h"
#include "http/testing/call_rig.h"
#include "http/testing/full_of_files.h"

namespace windrow::http {
namespace {

using testing::call;
using testing::failure_of;
using testing::FullOfFiles;
using testing::get_from;
using ::testing::HasSubstr;
using testing::PendingCall;
using testing::reply_of;

// Two ports in a child process: every request is answered "ok" but those for /hold, which are not.
class ChildServer {
 public:
  ChildServer() {
    for (size_t i = 0; i < listeners_.size(); ++i) {
      listeners_[i] = ::socket(AF_INET, SOCK_STREAM, 0);
      sockaddr_in place{};
      place.sin_family = AF_INET;
      place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      socklen_t bytes = sizeof place;
      ::bind(listeners_[i], reinterpret_cast<sockaddr*>(&place), bytes);
      ::listen(listeners_[i], 64);
      ::getsockname(listeners_[i], reinterpret_cast<sockaddr*>(&place), &bytes);
      ports_[i] = ntohs(place.sin_port);
    }
    child_ = fork();
    if (child_ == 0) serve();
    for (const int listener : listeners_)
      ::close(listener);
  }
  ~ChildServer() {
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
  }
  ChildServer(const ChildServer&) = delete;
  ChildServer& operator=(const ChildServer&) = delete;

  Url url(size_t port, std::string_view target = "/") const {
    return {.host = "127.0.0.1", .port = ports_.at(port), .target = std::string(target)};
  }

 private:
  static constexpr size_t kPolledMax = 64;

  [[noreturn]] void serve() const {
    std::array<pollfd, kPolledMax> polled{};
    nfds_t count = 0;
    for (const int listener : listeners_)
      polled[count++] = {.fd = listener, .events = POLLIN, .revents = 0};
    for (;;) {
      ::poll(polled.data(), count, -1);
      for (nfds_t i = 0; i < count; ++i) {
        if (polled[i].revents == 0) continue;
        if (i < listeners_.size()) {
          polled[count++] = {
              .fd = ::accept(polled[i].fd, nullptr, nullptr), .events = POLLIN, .revents = 0};
        } else {
          answer(polled[i]);
        }
      }
    }
  }

  static void answer(pollfd& client) {
    constexpr std::string_view kReply = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    std::array<char, 4096> request{};
    const ssize_t bytes = ::read(client.fd, request.data(), request.size());
    const std::string_view text(request.data(), bytes > 0 ? static_cast<size_t>(bytes) : 0);
    if (text.empty()) {
      ::close(client.fd);
      client.fd = -1;  // poll passes it over
    } else if (!text.starts_with("GET /hold ")) {
      [[maybe_unused]] const ssize_t written = ::write(client.fd, kReply.data(), kReply.size());
    }
  }

  std::array<int, 2> listeners_{};
  std::array<uint16_t, 2> ports_{};
  pid_t child_ = -1;
};

constexpr size_t kMany = 1000;

class NoFileTest : public ::testing::Test {
 protected:
  std::unique_ptr<Client> make(size_t connections_max = kMany) {
    return std::make_unique<CurlClient>(
        loop_, ClientOptions{.proxies = {}, .ca_file = "", .connections_max = connections_max});
  }

  ChildServer server_;  // first: no thread is forked with it
  SystemClock clock_;
  Loop loop_{clock_};
};

TEST_F(NoFileTest, AnIdleConnectionIsClosedForAnother) {
  const std::unique_ptr<Client> client = make();
  EXPECT_EQ(reply_of(call(*client, get_from(server_.url(0)))).body, "ok");
  const FullOfFiles full;
  for (const size_t port : {1U, 0U, 1U, 1U, 0U})
    EXPECT_EQ(reply_of(call(*client, get_from(server_.url(port)))).body, "ok");
}

TEST_F(NoFileTest, WithoutAnIdleConnectionTheFailureIsKFiles) {
  const std::unique_ptr<Client> client = make();
  PendingCall held(*client, get_from(server_.url(0, "/hold")));
  loop_.run([] {});  // it has its socket
  std::optional<FullOfFiles> full(std::in_place);
  for (const size_t port : {0U, 1U}) {
    const ClientFailure failure = failure_of(call(*client, get_from(server_.url(port))));
    EXPECT_EQ(failure.kind, FailureKind::kFiles);
    EXPECT_FALSE(failure.sent);
    EXPECT_THAT(failure.message, HasSubstr("may open no more connections"));
  }
  held.cancel();
  EXPECT_EQ(failure_of(held.result()).kind, FailureKind::kCancelled);
  EXPECT_EQ(reply_of(call(*client, get_from(server_.url(1)))).body, "ok");
}

TEST_F(NoFileTest, ANameThatCannotBeLookedUpForItIsNoUnknownName) {
  const std::unique_ptr<Client> client = make();
  const FullOfFiles full;
  Url url = server_.url(0);
  url.host = "localhost";
  EXPECT_EQ(failure_of(call(*client, get_from(url))).kind, FailureKind::kFiles);
}

TEST_F(NoFileTest, NoMoreThanSoManyConnectionsAreKept) {
  const std::unique_ptr<Client> client = make(1);
  const auto files = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
  };
  EXPECT_EQ(reply_of(call(*client, get_from(server_.url(0)))).body, "ok");
  const auto with_one = files();
  for (const size_t port : {1U, 0U, 1U, 1U}) {
    EXPECT_EQ(reply_of(call(*client, get_from(server_.url(port)))).body, "ok");
    EXPECT_LE(files(), with_one);
  }
}

TEST_F(NoFileTest, ALoopAndAClientThatCannotBeMadeThrowWhereTheyAreMade) {
  {
    const std::unique_ptr<Client> client = make();  // what starts once has started
  }
  const FullOfFiles full;
  EXPECT_THROW(Loop{clock_}, std::system_error);
  EXPECT_THROW(make(), std::system_error);
}

TEST(NoFile, IsSeenAtOnce) {
  EXPECT_FALSE(is_at_file_limit());
  const FullOfFiles full;
  EXPECT_TRUE(is_at_file_limit());
}

}  // namespace
}  // namespace windrow::http
