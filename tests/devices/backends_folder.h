// A folder of libggml's plug-ins for one test: those of the CPU, and those of devices that ./setup
// --tests fetched. The program of the build loads only what ./setup --device was asked for.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace windrow::devices {

class BackendsFolder {
 public:
  // Fails the test where the plug-in for `device` ("vulkan") is not there.
  explicit BackendsFolder(std::string_view device);
  ~BackendsFolder();
  BackendsFolder(const BackendsFolder&) = delete;
  BackendsFolder& operator=(const BackendsFolder&) = delete;

  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace windrow::devices
