// How many files a process may have open: each client of a server is one.
#pragma once

#include <cstdint>

namespace windrow::app {

// Raises the limit as far as the system lets the process itself; how many it may open then.
uint64_t raise_file_limit();

}  // namespace windrow::app
