// ProcessReading: what the system says about this process, as the metrics process_* of Prometheus'
// client libraries.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "api/pages/metrics_writer.h"

namespace windrow::api {

// Absent: the system did not say.
struct ProcessReading {
  std::optional<double> cpu_seconds;  // of all threads, in user mode and in the kernel
  std::optional<double> start_unix_s;
  std::optional<int64_t> virtual_bytes;
  std::optional<int64_t> resident_bytes;
  std::optional<int64_t> open_fds;
  std::optional<int64_t> max_fds;  // absent also where there is no limit
};

// Reads a few files of /proc; does not wait.
ProcessReading read_process();

// The first four members, from the texts of /proc/self/stat and /proc/stat. `ticks_per_s` and
// `page_bytes` are those of the system. Pure.
ProcessReading process_of(std::string_view self_stat, std::string_view system_stat,
                          int64_t ticks_per_s, int64_t page_bytes);

// Families without a sample where the reading has no value. Pure.
void add_process_metrics(const ProcessReading& process, MetricsWriter& page);

}  // namespace windrow::api
