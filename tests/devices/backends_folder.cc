#include "devices/backends_folder.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <stdlib.h>

namespace windrow::devices {
namespace fs = std::filesystem;
namespace {

// Whether there were any.
bool link_plugins(const fs::path& from, std::string_view prefix, const fs::path& to) {
  bool found = false;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(from, error)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(prefix) || entry.path().extension() != ".so") continue;
    fs::create_symlink(fs::canonical(entry.path()), to / name);
    found = true;
  }
  return found;
}

}  // namespace

BackendsFolder::BackendsFolder(std::string_view device) {
  std::string name = (fs::temp_directory_path() / "windrow-backends-XXXXXX").string();
  path_ = mkdtemp(name.data());
  const fs::path of_build = WINDROW_GGML_BACKENDS_DIR;
  // A libggml of the system has all its plug-ins in one folder.
  const fs::path of_devices = WINDROW_DEVICES_DIR;
  EXPECT_TRUE(link_plugins(of_build, "libggml-cpu", path_)) << of_build;
  EXPECT_TRUE(link_plugins(of_devices.empty() ? of_build : of_devices / device,
                           fmt::format("libggml-{}", device), path_))
      << "libggml's plug-in for " << device << " is not there; ./setup --tests fetches it";
}

BackendsFolder::~BackendsFolder() {
  std::error_code error;
  fs::remove_all(path_, error);
}

}  // namespace windrow::devices
