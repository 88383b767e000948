// How many files this process may have open, and how many requests to servers that leaves room for:
// each is a connection, and a connection is a file. Many systems allow a process 1,024 unless it
// asks for more.
#pragma once

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

}  // namespace windrow::app
