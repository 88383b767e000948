// Settings as the values that fleets take (fleet/fleet_options.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/environment.h"
#include "app/settings.h"
#include "fleet/fleet_options.h"
#include "fleet/spending.h"

namespace windrow::app {

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

}  // namespace windrow::app
