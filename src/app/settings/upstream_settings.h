// Upstream servers: --upstream names them, other flags are for all of them, and windrow.toml has
// more about each.
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

// Empty when there is no --upstream. Errors: kInvalid for a URL that is none, a server that is
// named twice, a variable that is not set, a number that is none. No message shows a key.
Result<std::vector<fleet::UpstreamChoice>> upstream_choices(const ResolvedSettings& settings,
                                                            const Environment& environment);

// The key of a server, which the variable of this name holds. Errors: kInvalid, with `place`
// ("--api-key-env") in front, for a variable that is not set or holds no key.
Result<std::string> key_of_variable(const std::string& name, const std::string& place,
                                    const Environment& environment);

// "auto": absent; "16": 16. Errors: kInvalid, with `place` in front.
Result<std::optional<int32_t>> parse_concurrency(std::string_view text, std::string_view place);

}  // namespace windrow::app
