#include "api/pages/process_reading.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>
#include <vector>

namespace windrow::api {
namespace {

// Empty where it cannot be read.
std::string text_of_file(const char* path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::optional<int64_t> whole_number(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::vector<std::string_view> fields_of(std::string_view text) {
  std::vector<std::string_view> words;
  for (size_t begin = text.find_first_not_of(" \n"); begin != std::string_view::npos;) {
    const size_t end = std::min(text.find_first_of(" \n", begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    begin = text.find_first_not_of(" \n", end);
  }
  return words;
}

// When the system was started, in seconds since 1970.
std::optional<int64_t> boot_time(std::string_view system_stat) {
  constexpr std::string_view kName = "\nbtime ";
  const size_t found = system_stat.find(kName);
  if (found == std::string_view::npos) return std::nullopt;
  system_stat.remove_prefix(found + kName.size());
  return whole_number(system_stat.substr(0, system_stat.find('\n')));
}

std::optional<int64_t> count_descriptors() {
  std::error_code error;
  std::filesystem::directory_iterator entry("/proc/self/fd", error);
  if (error) return std::nullopt;
  int64_t count = 0;
  for (; entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    if (error) return std::nullopt;
    ++count;
  }
  return count - 1;  // without the one that reads the folder
}

}  // namespace

ProcessReading process_of(std::string_view self_stat, std::string_view system_stat,
                          int64_t ticks_per_s, int64_t page_bytes) {
  // The second field is the name in parentheses, which may hold blanks and parentheses itself; the
  // third is the first one behind it. proc(5) counts from 1.
  constexpr size_t kFirst = 3;
  constexpr size_t kUserTicks = 14 - kFirst;
  constexpr size_t kSystemTicks = 15 - kFirst;
  constexpr size_t kStartTicks = 22 - kFirst;
  constexpr size_t kVirtualBytes = 23 - kFirst;
  constexpr size_t kResidentPages = 24 - kFirst;
  ProcessReading reading;
  const size_t name_end = self_stat.rfind(')');
  if (name_end == std::string_view::npos || ticks_per_s <= 0) return reading;
  const std::vector<std::string_view> fields = fields_of(self_stat.substr(name_end + 1));
  if (fields.size() <= kResidentPages) return reading;
  const auto user = whole_number(fields[kUserTicks]);
  const auto system = whole_number(fields[kSystemTicks]);
  const auto per_s = static_cast<double>(ticks_per_s);
  if (user && system) reading.cpu_seconds = static_cast<double>(*user + *system) / per_s;
  reading.virtual_bytes = whole_number(fields[kVirtualBytes]);
  if (const auto pages = whole_number(fields[kResidentPages]))
    reading.resident_bytes = *pages * page_bytes;
  const auto started = whole_number(fields[kStartTicks]);
  const auto booted = boot_time(system_stat);
  if (started && booted)
    reading.start_unix_s = static_cast<double>(*booted) + static_cast<double>(*started) / per_s;
  return reading;
}

ProcessReading read_process() {
  ProcessReading reading = process_of(text_of_file("/proc/self/stat"), text_of_file("/proc/stat"),
                                      sysconf(_SC_CLK_TCK), sysconf(_SC_PAGESIZE));
  reading.open_fds = count_descriptors();
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
    reading.max_fds = static_cast<int64_t>(limit.rlim_cur);
  return reading;
}

void add_process_metrics(const ProcessReading& process, MetricsWriter& page) {
  const auto add = [&](std::string_view name, std::string_view type, std::string_view help,
                       const auto& value) {
    page.family(name, type, help);
    if (value) page.sample({}, *value);
  };
  add("process_cpu_seconds_total", "counter", "CPU time of the process, of all its threads.",
      process.cpu_seconds);
  add("process_start_time_seconds", "gauge", "Start of the process, in seconds since 1970.",
      process.start_unix_s);
  add("process_virtual_memory_bytes", "gauge", "Address space of the process.",
      process.virtual_bytes);
  add("process_resident_memory_bytes", "gauge",
      "Memory of the process that is in RAM, models that are mapped from files included.",
      process.resident_bytes);
  add("process_open_fds", "gauge", "Open file descriptors.", process.open_fds);
  add("process_max_fds", "gauge", "Limit of open file descriptors.", process.max_fds);
}

}  // namespace windrow::api
