#include "app/load_settings.h"

#include <vector>

#include "app/config_file.h"

namespace windrow::app {

Result<ResolvedSettings> load_settings(std::span<const GivenFlag> flags,
                                       const Environment& environment, store::Disk& disk) {
  const auto files =
      read_config_files(environment, [&](const std::string& path) { return disk.read_all(path); });
  if (!files) return files.error();
  return resolve_settings(flags, environment, *files);
}

}  // namespace windrow::app
