#include "grammar/maskbench/heap_use.h"

#include <malloc.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace windrow::bench {
namespace {

thread_local int64_t heap_held = 0;
thread_local int64_t heap_most = 0;

void* counted(void* block) {
  if (block == nullptr) throw std::bad_alloc();
  heap_held += static_cast<int64_t>(malloc_usable_size(block));
  heap_most = std::max(heap_most, heap_held);
  return block;
}

void release(void* block) {
  if (block == nullptr) return;
  heap_held -= static_cast<int64_t>(malloc_usable_size(block));
  std::free(block);
}

}  // namespace

int64_t heap_bytes() {
  return heap_held;
}

int64_t heap_peak_bytes() {
  return heap_most;
}

void reset_heap_peak() {
  heap_most = heap_held;
}

}  // namespace windrow::bench

void* operator new(size_t bytes) {
  return windrow::bench::counted(std::malloc(bytes));
}

void* operator new(size_t bytes, std::align_val_t alignment) {
  const auto align = static_cast<size_t>(alignment);
  return windrow::bench::counted(std::aligned_alloc(align, (bytes + align - 1) / align * align));
}

void operator delete(void* block) noexcept {
  windrow::bench::release(block);
}

void operator delete(void* block, size_t /*bytes*/) noexcept {
  windrow::bench::release(block);
}

void operator delete(void* block, std::align_val_t /*alignment*/) noexcept {
  windrow::bench::release(block);
}

void operator delete(void* block, size_t /*bytes*/, std::align_val_t /*alignment*/) noexcept {
  windrow::bench::release(block);
}
