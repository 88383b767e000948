#include "http/kept_connections.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace windrow::http {
namespace {

// Its own; 0: it has none.
int port_of(int socket) {
  sockaddr_storage place{};
  socklen_t bytes = sizeof place;
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&place), &bytes) != 0) return 0;
  if (place.ss_family == AF_INET) return ntohs(reinterpret_cast<sockaddr_in&>(place).sin_port);
  if (place.ss_family == AF_INET6) return ntohs(reinterpret_cast<sockaddr_in6&>(place).sin6_port);
  return 0;
}

}  // namespace

KeptConnection& KeptConnections::opened(std::string_view address, int port,
                                        std::span<const int> sockets) {
  KeptConnection& connection = kept(address, port);
  connection = {};
  for (const int socket : sockets) {
    if (port_of(socket) == port) connection.socket = socket;
  }
  return connection;
}

KeptConnection& KeptConnections::kept(std::string_view address, int port) {
  return by_end_[fmt::format("{} {}", address, port)];
}

bool has_unasked_bytes(const KeptConnection& connection) {
  char byte = 0;
  return connection.version != HttpVersion::k2 &&
         ::recv(connection.socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

}  // namespace windrow::http
