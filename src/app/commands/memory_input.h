// The input of `windrow memory retain`: one item a line.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"
#include "memory/retain/retain.h"

namespace windrow::app {

struct MemoryInput {
  std::vector<memory::RetainItem> items;
  std::vector<size_t> lines;  // of the items, counted from 1
};

// Reads a file, or standard input where `path` is empty or "-". A line is a text, or an object as
// POST .../memories takes it; blank ones are left out. Each item has `tags`, too. Blocks. kInvalid
// names the file and the line.
Result<MemoryInput> read_memory_input(const std::string& path,
                                      const std::vector<std::string>& tags);

}  // namespace windrow::app
