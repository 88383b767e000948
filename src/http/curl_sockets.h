// CurlSockets: the sockets that libcurl opens and keeps for later calls: how many are open, why one
// could not be opened, and which carry bytes that no request asked for.
//
// libcurl (7.88 at least) takes bytes that arrive on an idle connection for the reply to the next
// request, so each connection is known by its own address and port and looked at before a request
// is written. On the loop's thread only, where nothing else is said.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "http/client.h"

namespace windrow::http {

// Whether `error`, as in errno, means that this process or the whole system may open no more files;
// a socket is one. Any thread.
bool is_file_limit(int error);

// Whether no file can be opened at this moment, for libraries that do not tell why they failed.
// Any thread.
bool is_at_file_limit();

// One connection that libcurl keeps.
struct KeptConnection {
  int socket = -1;                        // -1: unknown
  HttpVersion version = HttpVersion::k2;  // of its last reply; k2 before the first one
};

class CurlSockets {
 public:
  // Opens a socket. -1, with errno set, when the system refuses.
  int open(int family, int type, int protocol);

  // Closes a socket that open() returned.
  int close(int socket);

  // Sockets that are open now.
  size_t open_count() const { return open_count_; }

  // A connection whose own end is `address` and `port`, made for a call that opened `sockets`, some
  // of which may be closed by now. The reference stays valid as long as this.
  KeptConnection& connected(std::string_view address, int port, std::span<const int> sockets);

  // The same of a connection that is used again.
  KeptConnection& reused(std::string_view address, int port);

 private:
  size_t open_count_ = 0;

  // At most one entry for each port of this machine: a closed connection is overwritten when its
  // port is used again.
  std::unordered_map<std::string, KeptConnection> by_end_;
};

// Whether bytes have arrived on the connection although no request has been written to it. Always
// false over HTTP/2, where frames may arrive at any time and name their request.
bool has_stray_bytes(const KeptConnection& connection);

}  // namespace windrow::http
