#include "app/open_files.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <limits>
#include <string_view>
#include <utility>

#include "base/format.h"

namespace windrow::app {
namespace {

constexpr uint64_t kOwnFiles = 64;

constexpr std::string_view kHowToRaise =
    "raise the hard limit (as root: ulimit -Hn {}; of a service: LimitNOFILE={}; of a container: "
    "--ulimit nofile={})";

std::string how_to_raise(uint64_t files) {
  return fmt::format(kHowToRaise, files, files, files);
}

}  // namespace

uint64_t own_files(uint64_t files_max) {
  return std::min(kOwnFiles, files_max / 2);
}

Result<uint64_t> raise_open_files() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return kOpenFilesMin;
  if (limit.rlim_cur < limit.rlim_max) {
    const rlim_t before = std::exchange(limit.rlim_cur, limit.rlim_max);
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0) limit.rlim_cur = before;
  }
  if (limit.rlim_cur >= kOpenFilesMin) return limit.rlim_cur;
  return Error{ErrorKind::kInvalid,
               fmt::format("this process may have only {} files open, and connections need at "
                           "least {}; {}",
                           limit.rlim_cur, kOpenFilesMin, how_to_raise(1024))};
}

int32_t requests_for(uint64_t files_max) {
  constexpr uint64_t kMost = std::numeric_limits<int32_t>::max() / 2;
  return static_cast<int32_t>(std::clamp<uint64_t>(files_max - own_files(files_max), 1, kMost));
}

std::string requests_bound_text(uint64_t files_max, int32_t requests_max) {
  return fmt::format(
      "{} requests are in flight, the most for which there are connections, as this process may "
      "have {} files open; if the servers can take more, {}",
      with_thousands(requests_max), with_thousands(static_cast<int64_t>(files_max)),
      how_to_raise(65'536));
}

}  // namespace windrow::app
