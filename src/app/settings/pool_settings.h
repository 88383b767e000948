// --memory, --keep-loaded and --load of `windrow serve`: which models are loaded at the start,
// which stay loaded, and how much memory they may take together. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "app/settings/settings.h"
#include "base/result.h"
#include "fleet/fleet_options.h"

namespace windrow::app {

// "12G", "1.5GiB", "800MB". K, M, G and T are powers of 1024, with "iB" behind them or not; with
// "B" alone powers of 1000. A number alone is bytes. Absent for anything else, and for more than
// there can be.
std::optional<uint64_t> parse_memory_size(std::string_view text);

// `names`: the names of the models, in the order they were given. Errors: kInvalid for a name that
// no model has, and for a size that is none.
Result<fleet::PoolOptions> pool_options(const Settings& settings,
                                        std::span<const std::string> names);

}  // namespace windrow::app
