#include "app/client_room.h"

#include <fmt/format.h>

#include <algorithm>

namespace windrow::app {
namespace {

// Of the process itself: logs, models and data, what its threads wake each other by. Where there is
// hardly anything, half of it.
constexpr uint64_t kOwnFiles = 64;

}  // namespace

ClientRoom room_for_clients(uint64_t files_max, size_t wanted, bool elsewhere) {
  const uint64_t files_each = elsewhere ? 2 : 1;
  const uint64_t own = std::min(kOwnFiles, files_max / 2);
  const uint64_t fit = std::max<uint64_t>((files_max - own) / files_each, 1);
  if (fit >= wanted) return {.connections_max = wanted, .warning = ""};
  return {.connections_max = fit,
          .warning = fmt::format(
              "this process may have {} files open, so at most {} clients are connected at a time "
              "and more wait; with {} it would be {} (ulimit -Hn, LimitNOFILE=)",
              files_max, fit, wanted * files_each + kOwnFiles, wanted)};
}

}  // namespace windrow::app
