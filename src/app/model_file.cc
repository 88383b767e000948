#include "app/model_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>
#include <vector>

namespace windrow::app {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMagic = "GGUF";
constexpr std::string_view kLfsPointer = "version https://git-lfs";

Error folder_error(const std::string& path) {
  constexpr size_t kNamed = 3;
  std::vector<std::string> models;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(path, error)) {
    if (entry.path().extension() == ".gguf") models.push_back(entry.path().string());
  }
  std::ranges::sort(models);
  if (models.size() > kNamed) models.resize(kNamed);
  return Error{
      ErrorKind::kInvalid,
      models.empty()
          ? fmt::format("{}: this is a folder without .gguf files; name a model's file", path)
          : fmt::format("{}: this is a folder; name a file in it, such as {}", path,
                        fmt::join(models, " or "))};
}

}  // namespace

Result<void> check_model_file(const std::string& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) {
    return Error{ErrorKind::kNotFound, fmt::format("{}: there is no such model file", path)};
  }
  if (fs::is_directory(status)) return folder_error(path);

  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return Error{ErrorKind::kNotFound, fmt::format("{}: the model file cannot be read: {}", path,
                                                   std::generic_category().message(errno))};
  }
  std::string start(kLfsPointer.size(), '\0');
  file.read(start.data(), static_cast<std::streamsize>(start.size()));
  start.resize(static_cast<size_t>(file.gcount()));
  if (start.starts_with(kMagic)) return {};
  if (start == kLfsPointer) {
    return Error{ErrorKind::kInvalid,
                 fmt::format("{}: this is a Git LFS pointer, not the model itself; fetch it with "
                             "git lfs pull",
                             path)};
  }
  if (start.empty()) {
    return Error{ErrorKind::kInvalid,
                 fmt::format("{}: this file is empty; get the model again", path)};
  }
  return Error{ErrorKind::kInvalid,
               fmt::format("{}: this is not a GGUF file (it does not start with \"GGUF\"); other "
                           "formats must be converted first",
                           path)};
}

}  // namespace windrow::app
