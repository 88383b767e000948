// How many files and sockets this process may have open. A server needs one for each client, and
// many systems allow 1024 unless a program asks for more.
#pragma once

#include <cstdint>

namespace windrow::http {

struct FileLimit {
  uint64_t before = 0;  // what was allowed
  uint64_t now = 0;     // what is
};

// Asks for `wanted`, by default for all there is to have, and never lowers the limit. Affects the
// whole process. When the system gives less, `now` says what.
FileLimit raise_file_limit(uint64_t wanted = UINT64_MAX);

}  // namespace windrow::http
