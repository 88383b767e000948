// How much memory this thread holds, by the sizes of its blocks. A program that links heap_use.cc
// counts all of new and delete.
#pragma once

#include <cstdint>

namespace windrow::bench {

// Bytes that are held now.
int64_t heap_bytes();

// The most that were held at once since the last call of reset_heap_peak().
int64_t heap_peak_bytes();
void reset_heap_peak();

}  // namespace windrow::bench
