#include "batch/output_file.h"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>

namespace windrow::batch {

namespace fs = std::filesystem;

namespace {

std::string_view kind_of(fs::file_type type) {
  switch (type) {
    case fs::file_type::block:
    case fs::file_type::character:
      return "a device";
    case fs::file_type::fifo:
      return "a pipe";
    case fs::file_type::socket:
      return "a socket";
    default:
      return "no ordinary file";
  }
}

}  // namespace

Result<void> check_output_file(std::string_view what, const std::string& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  // What cannot be looked at fails when it is opened, with the reason.
  if (!fs::status_known(status) || !fs::exists(status) || fs::is_regular_file(status)) return {};
  if (fs::is_directory(status)) {
    return Error{ErrorKind::kInvalid,
                 fmt::format("{} {} is a folder; name a file in it", what, path)};
  }
  return Error{
      ErrorKind::kInvalid,
      fmt::format("{} {} is {}, which keeps nothing; name a file, and delete it when it is "
                  "not wanted",
                  what, path, kind_of(status.type()))};
}

}  // namespace windrow::batch
