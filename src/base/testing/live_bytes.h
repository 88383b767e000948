// How many bytes of the heap are in use at this moment, so that a test can say how much something
// holds. Of all threads: for tests in which no other one allocates much.
#pragma once

#include <cstddef>

#ifndef __has_feature
#define __has_feature(feature) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || \
    __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#include <sanitizer/allocator_interface.h>
#define WINDROW_HEAP_IS_A_SANITIZERS
#else
#include <malloc.h>
#endif

namespace windrow::testing {

inline size_t live_bytes() {
#ifdef WINDROW_HEAP_IS_A_SANITIZERS
  return __sanitizer_get_current_allocated_bytes();
#else
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;  // from the heap, and mapped on its own
#endif
}

}  // namespace windrow::testing
