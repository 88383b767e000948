// The servers a person chose: --upstream, what other flags say of all of them, and what
// windrow.toml says of each.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/settings/environment.h"
#include "app/settings/resolve_settings.h"
#include "base/result.h"
#include "fleet/fleet_options.h"

namespace windrow::app {

// Empty where none is chosen. kInvalid for what is no URL, a server that is named twice, a variable
// that is not set, a number that is none. The key of a message is never shown.
Result<std::vector<fleet::UpstreamChoice>> upstream_choices(const ResolvedSettings& settings,
                                                            const Environment& environment);

// "auto": nothing; "16": 16.
Result<std::optional<int32_t>> parse_concurrency(std::string_view text, std::string_view place);

}  // namespace windrow::app
