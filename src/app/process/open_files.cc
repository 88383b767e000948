#include "app/process/open_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <initializer_list>
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

// Descriptors for files that are sent and fetched: so many, but at most this part of what is left.
constexpr uint64_t kTransfers = 128;
constexpr uint64_t kTransfersPart = 4;

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

ClientLimits client_limits(uint64_t files_max, size_t wanted, bool has_upstreams,
                           bool keeps_files) {
  const uint64_t files_each = has_upstreams ? 2 : 1;
  const uint64_t own = own_files(files_max);
  const uint64_t transfers =
      keeps_files ? std::min(kTransfers, (files_max - own) / kTransfersPart) : 0;
  const uint64_t fit = std::max<uint64_t>((files_max - own - transfers) / files_each, 1);
  const auto transfers_max = static_cast<int32_t>(std::max<uint64_t>(transfers, 1));
  // Rows of batches need requests, too, and have no client: both share what clients leave.
  constexpr uint64_t kRequestsMax = std::numeric_limits<int32_t>::max() / 2;
  const uint64_t taken = own + transfers + std::min<uint64_t>(fit, wanted);
  const auto requests_max = static_cast<int32_t>(
      std::clamp<uint64_t>(files_max - std::min(taken, files_max), 1, kRequestsMax));
  if (fit >= wanted)
    return {.connections_max = wanted,
            .transfers_max = transfers_max,
            .requests_max = requests_max,
            .warning = ""};
  const uint64_t enough =
      wanted * files_each + own_files(UINT64_MAX) + (keeps_files ? kTransfers : 0);
  return {.connections_max = fit,
          .transfers_max = transfers_max,
          .requests_max = requests_max,
          .warning = fmt::format(
              "this process may have {} files open, so at most {} clients are connected at a time "
              "and more wait; with {} it would be {} (ulimit -Hn, LimitNOFILE=)",
              files_max, fit, enough, wanted)};
}

bool hold_standard_descriptors() {
  for (const int wanted : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(wanted, F_GETFD) >= 0 || errno != EBADF) continue;
    // The lowest that is free, which is this one. It stays open in programs that are started.
    const int opened = ::open("/dev/null", wanted == STDIN_FILENO ? O_WRONLY : O_RDWR);
    if (opened != wanted) return false;
  }
  return true;
}

}  // namespace windrow::app
