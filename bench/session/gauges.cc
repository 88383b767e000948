#include "session/gauges.h"

#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <stdexcept>
#include <string>

namespace windrow::session_bench {
namespace {

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

CpuSeconds cpu_of(int who) {
  rusage usage{};
  getrusage(who, &usage);
  return {.user = seconds_of(usage.ru_utime), .system = seconds_of(usage.ru_stime)};
}

double status_bytes(std::string_view name) {
  std::ifstream status("/proc/self/status");
  std::string line;
  while (std::getline(status, line)) {
    if (line.starts_with(name)) return std::stod(line.substr(name.size() + 1)) * 1024;
  }
  throw std::runtime_error("/proc/self/status does not tell " + std::string(name));
}

}  // namespace

CpuSeconds cpu_of_process() {
  return cpu_of(RUSAGE_SELF);
}

CpuSeconds cpu_of_thread() {
  return cpu_of(RUSAGE_THREAD);
}

double resident_bytes() {
  return status_bytes("VmRSS");
}

double peak_resident_bytes() {
  return status_bytes("VmHWM");
}

void forget_peak() {
  std::ofstream("/proc/self/clear_refs") << "5";
}

double percentile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  const double rank = std::ceil(share * static_cast<double>(values.size()));
  const auto place = static_cast<size_t>(std::max(rank, 1.0)) - 1;
  return values[std::min(place, values.size() - 1)];
}

double median(std::vector<double> values) {
  return percentile(std::move(values), 0.5);
}

std::string_view verdict(bool kept) {
  return kept ? "ok" : "MISSED";
}

}  // namespace windrow::session_bench
