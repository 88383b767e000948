// PartState: the state of an incomplete download, stored beside it as JSON, and how many of its
// bytes can be kept. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "model_store/remote_file.h"

namespace windrow::model_store {

struct PartState {
  RemoteFile of;              // the file that the bytes belong to
  uint64_t bytes_synced = 0;  // bytes that survive a power failure
};

std::string to_json(const PartState& state);

// Nothing if the text is not a PartState.
std::optional<PartState> parse_part_state(std::string_view text);

// How many of the `bytes_there` of an incomplete download can be kept, given the file on the server
// now: all, if the hash will verify them; the synced ones, if the ETag is unchanged; otherwise
// none.
uint64_t bytes_to_keep(const std::optional<PartState>& state, uint64_t bytes_there,
                       const RemoteFile& now);

}  // namespace windrow::model_store
