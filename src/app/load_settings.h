// The settings of this call: flags, variables and files together.
#pragma once

#include <span>

#include "app/resolve_settings.h"
#include "store/disk.h"

namespace windrow::app {

Result<ResolvedSettings> load_settings(std::span<const GivenFlag> flags,
                                       const Environment& environment, store::Disk& disk);

}  // namespace windrow::app
