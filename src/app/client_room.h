// How many clients a server takes at a time, by how many files its process may have open: each is
// one, its request to a server elsewhere another, and so is a file that it sends or fetches. What
// comes on top of that is not accepted until there is room, rather than shutting everybody out.
// Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace windrow::app {

struct ClientRoom {
  size_t connections_max = 0;  // 1 or more
  int32_t transfers_max = 1;   // files on their way at a time
  int32_t requests_max = 1;    // to servers elsewhere, where these answer
  std::string warning;         // fewer than wanted, and what to do; empty: they are not
};

// `files_max`: as the limit is once it has been raised. `elsewhere`: other servers answer.
// `keeps_files`: clients send and fetch files.
ClientRoom room_for_clients(uint64_t files_max, size_t wanted, bool elsewhere, bool keeps_files);

}  // namespace windrow::app
