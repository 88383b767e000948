// Connections that libcurl keeps for later calls, as far as it shows them: each by its own end, an
// address and a port. What comes over one of them while it rests would be taken for the reply to
// the next request, by libcurl up to 7.88 at least: that is another one's answer. On the loop's
// thread only.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "http/client.h"

namespace windrow::http {

struct KeptConnection {
  int socket = -1;                        // -1: unknown
  HttpVersion version = HttpVersion::k2;  // of its last reply; k2 where none came
};

class KeptConnections {
 public:
  // One that is new; it is one of `sockets`, which were opened for the call, some of them perhaps
  // closed by now. What is returned stays where it is until the end.
  KeptConnection& opened(std::string_view address, int port, std::span<const int> sockets);

  // One that is used again.
  KeptConnection& kept(std::string_view address, int port);

 private:
  // No more than a machine has ports: one that is closed is forgotten when its port comes again.
  std::unordered_map<std::string, KeptConnection> by_end_;
};

// Whether bytes lie there, before a request is written. Over HTTP/2 frames may come at any time,
// and they name their request: false.
bool has_unasked_bytes(const KeptConnection& connection);

}  // namespace windrow::http
