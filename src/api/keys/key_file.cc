#include "api/keys/key_file.h"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>
#include <utility>

namespace windrow::api {

Result<std::unique_ptr<KeyFile>> KeyFile::open(store::Disk& disk, std::string path) {
  Result<std::string> text = disk.read_all(path);
  if (!text) {
    if (text.error().kind != ErrorKind::kNotFound) return text.error();
    return Error{ErrorKind::kNotFound,
                 fmt::format("there is no file of keys {}; `windrow keys add {} NAME` makes one",
                             path, path)};
  }
  Result<KeyRing> keys = KeyRing::parse(*text, path);
  if (!keys) return keys.error();
  return std::unique_ptr<KeyFile>(
      new KeyFile(disk, std::move(path), *std::move(text), *std::move(keys)));
}

KeyFile::KeyFile(store::Disk& disk, std::string path, std::string text, KeyRing keys)
    : disk_(disk),
      path_(std::move(path)),
      text_(std::move(text)),
      keys_(std::make_shared<KeyRingHolder>(std::move(keys))) {}

Result<bool> KeyFile::refresh() {
  const auto tell = [this](const Error& error) -> Result<bool> {
    if (error.message == std::exchange(error_, error.message)) return false;
    return error;
  };
  Result<std::string> text = disk_.read_all(path_);
  if (!text) return tell(text.error());
  if (*text == text_ && error_.empty()) return false;
  Result<KeyRing> keys = KeyRing::parse(*text, path_);
  if (!keys) return tell(keys.error());
  error_.clear();
  if (*text == text_) return false;
  text_ = *std::move(text);
  keys_->set(*std::move(keys));
  return true;
}

std::string KeyFile::warning() const {
  namespace fs = std::filesystem;
  std::error_code failed;
  const fs::perms allowed = fs::status(path_, failed).permissions();
  // Its group may read it: that is how a service reads a file that belongs to root.
  constexpr fs::perms kPermissionsOfOthers = fs::perms::group_write | fs::perms::others_all;
  if (failed || (allowed & kPermissionsOfOthers) == fs::perms::none) return {};
  // Who can write there makes keys of his own; who can read learns names and limits.
  const bool write =
      (allowed & (fs::perms::group_write | fs::perms::others_write)) != fs::perms::none;
  return fmt::format("{} may be {} by other users of this machine; chmod 600 {} ends that", path_,
                     write ? "written" : "read", path_);
}

}  // namespace windrow::api
