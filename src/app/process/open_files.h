// File descriptors of this process: that the standard ones are open, how many there may be, and how
// many requests and clients that leaves room for. Each connection is one. Many systems allow a
// process 1,024 unless it asks for more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/result.h"

namespace windrow::app {

// With fewer descriptors HTTP does not work.
constexpr uint64_t kOpenFilesMin = 64;

// Descriptors that the process needs beside connections: logs, models and data, the standard
// streams, those by which threads wake each other. At most half of all.
uint64_t own_files(uint64_t files_max);

// Raises the limit of open files as far as the system permits, and returns it. Affects the whole
// process, and never lowers the limit. Call it before any connection is opened. Errors: kInvalid
// where the limit stays below kOpenFilesMin.
Result<uint64_t> raise_open_files();

// Requests that `run` may have in flight, of all servers together; at least 1. Pure.
int32_t requests_for(uint64_t files_max);

// The warning when that limit is reached and servers could take more. Pure.
std::string requests_bound_text(uint64_t files_max, int32_t requests_max);

// How many clients a server can have.
struct ClientLimits {
  size_t connections_max = 0;  // 1 or more
  int32_t transfers_max = 1;   // files that are sent or fetched at a time
  int32_t requests_max = 1;    // to upstream servers
  std::string warning;         // that there are fewer than wanted, and what to do; may be empty
};

// `files_max`: the limit after raise_open_files. `has_upstreams`: upstream servers answer, so a
// client needs two connections. `keeps_files`: clients send and fetch files. Clients beyond the
// limit are not accepted until there is room, rather than failing all of them. Pure.
ClientLimits client_limits(uint64_t files_max, size_t wanted, bool has_upstreams, bool keeps_files);

// Opens /dev/null on those of the descriptors 0, 1 and 2 that are closed. Call it before anything
// else is opened: otherwise the next file or socket gets that number, and is read as standard input
// or has messages written into it. The one for standard input cannot be read, so that a command
// that needs it fails with a message. False: the system refused.
bool hold_standard_descriptors();

}  // namespace windrow::app
