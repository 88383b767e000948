#include "app/client_room.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "app/open_files.h"

namespace windrow::app {
namespace {

// Of files that come and go; where there is little, so large a part of what the process leaves.
constexpr uint64_t kTransfers = 128;
constexpr uint64_t kTransfersPart = 4;

}  // namespace

ClientRoom room_for_clients(uint64_t files_max, size_t wanted, bool elsewhere, bool keeps_files) {
  const uint64_t files_each = elsewhere ? 2 : 1;
  const uint64_t own = own_files(files_max);
  const uint64_t transfers =
      keeps_files ? std::min(kTransfers, (files_max - own) / kTransfersPart) : 0;
  const uint64_t fit = std::max<uint64_t>((files_max - own - transfers) / files_each, 1);
  const auto transfers_max = static_cast<int32_t>(std::max<uint64_t>(transfers, 1));
  // Rows of batches have requests too, and no client: what clients leave is for both.
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

}  // namespace windrow::app
