// PartState: what is known of a download that is not complete, kept beside it as JSON. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "model_store/remote_file.h"

namespace windrow::model_store {

struct PartState {
  RemoteFile of;              // what the bytes that are there belong to
  uint64_t bytes_synced = 0;  // so many survive a loss of power
};

std::string to_json(const PartState& state);

// Nothing where the text is none.
std::optional<PartState> parse_part_state(std::string_view text);

// How many bytes of a part that has `bytes_there` can be kept, when the file is now `now`. All,
// where the hash will tell whether they are right; those that were synced, where the ETag says that
// the file is still the same; none otherwise.
uint64_t bytes_to_keep(const std::optional<PartState>& state, uint64_t bytes_there,
                       const RemoteFile& now);

}  // namespace windrow::model_store
