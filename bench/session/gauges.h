// What this process uses, and what a list of times says.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace windrow::session_bench {

constexpr double kMb = 1e6;

struct CpuSeconds {
  double user = 0;
  double system = 0;

  double all() const { return user + system; }
  CpuSeconds operator-(const CpuSeconds& other) const {
    return {.user = user - other.user, .system = system - other.system};
  }
};

// Of this process without its children; of the calling thread.
CpuSeconds cpu_of_process();
CpuSeconds cpu_of_thread();

// In bytes: resident memory, and the largest since the last call of forget_peak().
double resident_bytes();
double peak_resident_bytes();
void forget_peak();

// Of times in any order; 0 where there is none.
double percentile(std::vector<double> values, double share);
double median(std::vector<double> values);

// "ok" or "MISSED".
std::string_view verdict(bool kept);

}  // namespace windrow::session_bench
