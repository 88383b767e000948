#include "app/reply_memory.h"

#include <unistd.h>

#include <algorithm>

namespace windrow::app {
namespace {

constexpr uint64_t kPartOfMachine = 16;

}  // namespace

size_t reply_memory_bytes(int64_t setting_mb, uint64_t machine_bytes) {
  if (setting_mb > 0) return static_cast<size_t>(setting_mb) << 20U;
  return std::clamp<size_t>(machine_bytes / kPartOfMachine, kReplyMemoryMin, kReplyMemoryMax);
}

uint64_t machine_memory_bytes() {
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long page_bytes = sysconf(_SC_PAGESIZE);
  if (pages <= 0 || page_bytes <= 0) return 0;
  return static_cast<uint64_t>(pages) * static_cast<uint64_t>(page_bytes);
}

}  // namespace windrow::app
