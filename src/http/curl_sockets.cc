#include "http/curl_sockets.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

namespace windrow::http {
namespace {

// The port of the socket's own end; 0: it has none.
int port_of(int socket) {
  sockaddr_storage address{};
  socklen_t bytes = sizeof address;
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &bytes) != 0) return 0;
  if (address.ss_family == AF_INET) return ntohs(reinterpret_cast<sockaddr_in&>(address).sin_port);
  if (address.ss_family == AF_INET6)
    return ntohs(reinterpret_cast<sockaddr_in6&>(address).sin6_port);
  return 0;
}

}  // namespace

bool is_file_limit(int error) {
  return error == EMFILE || error == ENFILE;
}

bool is_at_file_limit() {
  const int file = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (file < 0) return is_file_limit(errno);
  ::close(file);
  return false;
}

int CurlSockets::open(int family, int type, int protocol) {
  const int socket = ::socket(family, type | SOCK_CLOEXEC, protocol);
  if (socket >= 0) ++open_count_;
  return socket;
}

int CurlSockets::close(int socket) {
  --open_count_;
  return ::close(socket);
}

KeptConnection& CurlSockets::connected(std::string_view address, int port,
                                       std::span<const int> sockets) {
  KeptConnection& connection = reused(address, port);
  connection = {};
  for (const int socket : sockets) {
    if (port_of(socket) == port) connection.socket = socket;
  }
  return connection;
}

KeptConnection& CurlSockets::reused(std::string_view address, int port) {
  return by_end_[fmt::format("{} {}", address, port)];
}

bool has_stray_bytes(const KeptConnection& connection) {
  char byte = 0;
  return connection.version != HttpVersion::k2 &&
         ::recv(connection.socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

}  // namespace windrow::http
