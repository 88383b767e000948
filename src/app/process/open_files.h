// File descriptors of this process: that the standard ones are open, how many there may be, and how
// many requests and clients that leaves room for. Each connection is one. Many systems allow a
// process 1,024 unless it asks for more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/result.h"

namespace windrow::app {

// With fewer than these nothing that speaks HTTP works.
constexpr uint64_t kOpenFilesMin = 64;

// What the process needs beside connections: logs, models and data, the standard streams, what its
// threads wake each other by. Where there is hardly anything, half of it.
uint64_t own_files(uint64_t files_max);

// Asks the system for all it gives, and returns how many files may be open from then on. Affects
// the whole process, and never lowers the limit. Any thread; before any connection is opened.
// Errors: kInvalid where the system gives fewer than kOpenFilesMin.
Result<uint64_t> raise_open_files();

// Requests that `run` may have in flight, of all servers together; at least 1. Pure.
int32_t requests_for(uint64_t files_max);

// What is said when so many are in flight and servers could take more. Pure.
std::string requests_bound_text(uint64_t files_max, int32_t requests_max);

struct ClientRoom {
  size_t connections_max = 0;  // 1 or more
  int32_t transfers_max = 1;   // files on their way at a time
  int32_t requests_max = 1;    // to servers elsewhere, where these answer
  std::string warning;         // fewer than wanted, and what to do; empty: they are not
};

// `files_max`: as the limit is once it has been raised. `elsewhere`: other servers answer.
// `keeps_files`: clients send and fetch files.
ClientRoom room_for_clients(uint64_t files_max, size_t wanted, bool elsewhere, bool keeps_files);

// Opens /dev/null on each of them that is closed, before anything else is opened: else the next
// file, socket or set of signals gets that number, and is read as standard input, or has messages
// written into it. Standard input gets one that cannot be read, so that a command that wants it
// says so. False: the system does not let it.
bool hold_standard_descriptors();

}  // namespace windrow::app
