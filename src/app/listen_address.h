// Where a server listens, as a person writes it: "127.0.0.1:8080", "[::1]:8080", "localhost:0", or
// a port alone ("8080", ":8080"), which other machines cannot reach.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace windrow::app {

struct ListenAddress {
  std::string host;  // without brackets
  uint16_t port = 0;

  friend bool operator==(const ListenAddress&, const ListenAddress&) = default;
};

// kInvalid for what is neither HOST:PORT nor a port, and for a host that looks like an IP address
// and is none. Whether the host is an address of this machine shows when it is used.
Result<ListenAddress> parse_listen(std::string_view text);

// Only programs of this machine reach it.
bool is_loopback(std::string_view host);

// Where a client on this machine finds it, without a path: "http://127.0.0.1:8080" also for one
// that listens on all addresses.
std::string local_url(const ListenAddress& address, bool tls);

}  // namespace windrow::app
