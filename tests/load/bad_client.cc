#include "load/bad_client.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>

namespace windrow::load {
namespace {

constexpr int kPatienceMs = 20'000;

class Connection {
 public:
  explicit Connection(uint16_t port) : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    open_ = connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  }
  ~Connection() { close(fd_); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // False when the other side takes no more.
  bool send(std::string_view bytes) {
    while (open_ && !bytes.empty()) {
      const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) open_ = false;
      if (sent > 0) bytes.remove_prefix(static_cast<size_t>(sent));
    }
    return open_;
  }

  // Some bytes; none at the end of the connection, or when nothing came for `wait_ms`.
  std::string receive(int wait_ms = kPatienceMs) {
    pollfd waiting{.fd = fd_, .events = POLLIN, .revents = 0};
    if (!open_ || poll(&waiting, 1, wait_ms) <= 0) return "";
    std::string bytes(16 * 1024, '\0');
    const ssize_t came = recv(fd_, bytes.data(), bytes.size(), 0);
    bytes.resize(came > 0 ? static_cast<size_t>(came) : 0);
    return bytes;
  }

  std::string receive_all() {
    std::string all;
    for (std::string some = receive(); !some.empty(); some = receive())
      all += some;
    return all;
  }

  void close_sending_side() const { shutdown(fd_, SHUT_WR); }

  // Leaves without a word: what is on its way is answered with a reset.
  void leave_rudely() const {
    const linger none{.l_onoff = 1, .l_linger = 0};
    setsockopt(fd_, SOL_SOCKET, SO_LINGER, &none, sizeof none);
  }

 private:
  int fd_;
  bool open_ = false;
};

std::string request(std::string_view path, std::string_view body, std::string_view more = "") {
  return fmt::format(
      "POST {} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n{}Content-Length: "
      "{}\r\n\r\n{}",
      path, more, body.size(), body);
}

std::string long_chat(Random& random, bool stream) {
  return request("/v1/chat/completions",
                 fmt::format(R"({{"model":"chat","messages":[{{"role":"user","content":"go {}"}}],)"
                             R"("max_tokens":{},"ignore_eos":true,"stream":{}}})",
                             random.below(1000), 50 + random.below(150), stream));
}

// Nothing but a well-formed refusal may answer what is no request.
std::string check_refusal(std::string_view reply, std::string_view what) {
  if (reply.empty()) return "";
  if (reply.starts_with("HTTP/1.1 4") || reply.starts_with("HTTP/1.1 5")) return "";
  return fmt::format("{} was answered {:?}", what, reply.substr(0, 200));
}

std::string garbage(Random& random) {
  std::string bytes;
  const uint64_t kind = random.below(4);
  if (kind == 0) bytes = "GET / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\n";
  if (kind == 1) bytes = "POST /v1/chat/completions HTTP/1.1\r\nContent-Length: nine\r\n\r\n";
  if (kind == 2)
    bytes =
        "POST /v1/chat/completions HTTP/1.1\r\nContent-Length: 5\r\n"
        "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
  for (uint64_t i = random.below(400) + 10; i > 0; --i)
    bytes += static_cast<char>(random.below(256));
  return bytes + "\r\n\r\n";
}

}  // namespace

std::string misbehave(Mischief mischief, uint16_t port, Random& random) {
  Connection connection(port);
  switch (mischief) {
    case Mischief::kLeavesWhileWaiting:
      connection.send(long_chat(random, false));
      connection.receive(static_cast<int>(random.below(40)));
      if (random.chance(0.5)) connection.leave_rudely();
      return "";
    case Mischief::kLeavesMidStream:
      connection.send(long_chat(random, true));
      for (uint64_t i = random.below(6) + 1; i > 0; --i)
        connection.receive(2000);
      if (random.chance(0.5)) connection.leave_rudely();
      return "";
    case Mischief::kReadsNothing:
      connection.send(long_chat(random, true));
      connection.send(long_chat(random, true));
      connection.receive(0);
      poll(nullptr, 0, static_cast<int>(random.below(1500)));
      return "";
    case Mischief::kHalfARequest: {
      const std::string whole = long_chat(random, random.chance(0.5));
      connection.send(std::string_view(whole).substr(0, random.below(whole.size())));
      connection.receive(static_cast<int>(random.below(1500)));
      return "";
    }
    case Mischief::kSlowly: {
      const std::string whole = long_chat(random, false);
      for (size_t i = 0; i < std::min<size_t>(whole.size(), 60); ++i) {
        if (!connection.send(std::string_view(whole).substr(i, 1))) break;
        poll(nullptr, 0, static_cast<int>(random.below(20)));
      }
      return "";
    }
    case Mischief::kGarbage:
      connection.send(garbage(random));
      connection.close_sending_side();
      return check_refusal(connection.receive_all(), "garbage");
    case Mischief::kHugeBody: {
      constexpr size_t kBytes = 100'000'000;
      connection.send(fmt::format(
          "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n", kBytes));
      const std::string piece(size_t{1} << 16, ' ');
      for (size_t sent = 0; sent < kBytes && connection.send(piece); sent += piece.size()) {
      }
      return check_refusal(connection.receive(2000), "a body of 100 MB");
    }
    case Mischief::kPipelines: {
      std::string many;
      for (uint64_t i = random.below(20) + 2; i > 0; --i)
        many += long_chat(random, random.chance(0.5));
      connection.send(many);
      connection.receive(static_cast<int>(random.below(500)));
      return "";
    }
    case Mischief::kHalfClosed:
      connection.send(request("/v1/chat/completions",
                              R"({"messages":[{"role":"user","content":"x"}],"max_tokens":4})"));
      connection.close_sending_side();
      connection.receive(2000);
      return "";
  }
  return "";
}

}  // namespace windrow::load
