// Settings as the values that fleets take (fleet/fleet_options.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/settings/environment.h"
#include "app/settings/settings.h"
#include "base/result.h"
#include "fleet/fleet_options.h"
#include "fleet/spending.h"
#include "http/curl_client.h"

namespace windrow::app {

// The devices that models go to.
engine::DeviceChoice device_choice(const Settings& settings);

fleet::EngineOptions engine_options(SettingsOf command, const Settings& settings);

fleet::LocalFleetOptions local_fleet_options(SettingsOf command, const Settings& settings);

// `files_max`: how many files the process may have open; `requests_max`: how many requests may be
// in flight because of that.
fleet::UpstreamFleetOptions upstream_fleet_options(const Settings& settings,
                                                   std::vector<fleet::UpstreamChoice> choices,
                                                   fleet::Spending spending,
                                                   const Environment& environment,
                                                   uint64_t files_max, int32_t requests_max);

// The folder of libllama's plug-ins for devices: WINDROW_GGML_BACKENDS, else that of an installed
// tree beside the executable, else empty: the one of this build.
std::string backends_folder();

// How the program reaches servers: through the proxies and with the certificates that the variables
// of the environment name, as other tools do.
http::ClientOptions client_options(const Environment& environment);

// Memory for replies of servers while they arrive in `run` (http/reply_budget.h). `setting_mb`:
// Settings::reply_memory_mb; where it is 0, a sixteenth of `machine_bytes`, but at least
// kReplyMemoryMin and at most kReplyMemoryMax: more brings no speed, as a reply is written as soon
// as it is complete. Pure.
size_t reply_memory_bytes(int64_t setting_mb, uint64_t machine_bytes);

constexpr size_t kReplyMemoryMin = size_t{64} << 20;
constexpr size_t kReplyMemoryMax = size_t{512} << 20;

// The memory of this machine.
uint64_t machine_memory_bytes();

// "12G", "1.5GiB", "800MB". K, M, G and T are powers of 1024, with "iB" behind them or not; with
// "B" alone powers of 1000. A number alone is bytes. Absent for anything else, and for more than
// there can be.
std::optional<uint64_t> parse_memory_size(std::string_view text);

// --memory, --keep-loaded and --load: which models are loaded at the start, which stay loaded, and
// how much memory they may take together. `names`: the names of the models, in the order they were
// given. Errors: kInvalid for a name that no model has, and for a size that is none. Pure.
Result<fleet::PoolOptions> pool_options(const Settings& settings,
                                        std::span<const std::string> names);

}  // namespace windrow::app
