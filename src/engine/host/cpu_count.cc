#include "engine/host/cpu_count.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <set>

namespace windrow::engine {
namespace {

// CPUs 0 .. 1023: what cpu_set_t holds.
int32_t allowed_physical_cores(const std::string& root) {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return 1;
  std::set<std::string> cores;
  for (size_t cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed)) continue;
    // Threads of one core list the same siblings.
    std::ifstream file(
        fmt::format("{}/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list", root, cpu));
    std::string siblings;
    if (!std::getline(file, siblings)) siblings = fmt::format("cpu {}", cpu);
    cores.insert(siblings);
  }
  return static_cast<int32_t>(cores.size());
}

// "max 100000" or "150000 100000": so many microseconds of CPU in each period.
int32_t quota_cores(const std::string& root, int32_t otherwise) {
  std::ifstream file(root + "/sys/fs/cgroup/cpu.max");
  double quota_us = 0;
  double period_us = 0;
  if (!(file >> quota_us >> period_us) || quota_us <= 0 || period_us <= 0) return otherwise;
  return static_cast<int32_t>(std::floor(quota_us / period_us));
}

}  // namespace

int32_t usable_cores(const std::string& root) {
  const int32_t cores = allowed_physical_cores(root);
  return std::max(1, std::min(cores, quota_cores(root, cores)));
}

}  // namespace windrow::engine
