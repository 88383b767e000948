#include "app/commands/commands.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <vector>

#include "api/keys/keys.h"
#include "base/crypto.h"
#include "base/result.h"
#include "batch/job_runner.h"
#include "store/posix_disk.h"

namespace windrow::app {
namespace {

namespace json = boost::json;

constexpr mode_t kForItsOwner = 0600;
constexpr mode_t kForItsGroupToo = 0640;
constexpr size_t kChanceBytes = 32;

int fail_keys(const Error& error) {
  fmt::print(stderr, "windrow: {}\n", error.message);
  return batch::exit_code(error);
}

// A file, locked against other calls of `windrow keys add`.
class KeyFileToGrow {
 public:
  static Result<KeyFileToGrow> open(const std::string& path) {
    constexpr int kAppend = O_WRONLY | O_APPEND | O_CLOEXEC;
    int descriptor = ::open(path.c_str(), kAppend | O_CREAT | O_EXCL, kForItsOwner);
    const bool is_new = descriptor >= 0;
    if (!is_new && errno == EEXIST) descriptor = ::open(path.c_str(), kAppend);
    if (descriptor < 0) return failed(path);
    KeyFileToGrow file(path, descriptor);
    if (::flock(descriptor, LOCK_EX) != 0) return failed(path);
    if (is_new && !file.hand_to_owner_of_folder()) return failed(path);
    return file;
  }

  ~KeyFileToGrow() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  KeyFileToGrow(KeyFileToGrow&& other) noexcept
      : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {}
  KeyFileToGrow& operator=(KeyFileToGrow&&) = delete;

  Result<void> append(std::string_view text) const {
    // In one piece: a server may read the file at any moment.
    const ssize_t written = ::write(descriptor_, text.data(), text.size());
    if (written == static_cast<ssize_t>(text.size()) && ::fsync(descriptor_) == 0) return {};
    return failed(path_);
  }

 private:
  // Root makes the file, and a service that is not root reads it.
  bool hand_to_owner_of_folder() const {
    if (::geteuid() != 0) return true;
    const std::string folder = std::filesystem::absolute(path_).parent_path();
    struct stat owner{};
    if (::stat(folder.c_str(), &owner) != 0) return false;
    if (owner.st_uid == 0 && owner.st_gid == 0) return true;
    if (::fchown(descriptor_, owner.st_uid, owner.st_gid) != 0) return false;
    return owner.st_uid != 0 || ::fchmod(descriptor_, kForItsGroupToo) == 0;
  }

  KeyFileToGrow(std::string path, int descriptor)
      : path_(std::move(path)), descriptor_(descriptor) {}

  static Error failed(const std::string& path) {
    return Error{ErrorKind::kIo, fmt::format("{}: it cannot be written: {}", path,
                                             std::generic_category().message(errno))};
  }

  std::string path_;
  int descriptor_;
};

Result<api::NewKey> add_key(const KeysAddCommand& command) {
  // Before a file is made for a name that cannot be.
  Result<api::NewKey> key = api::make_key(command.name, command.limits, secret_bytes(kChanceBytes));
  if (!key) return key.error();
  const Result<KeyFileToGrow> file = KeyFileToGrow::open(command.file);
  if (!file) return file.error();
  store::PosixDisk disk;
  const Result<std::string> text = disk.read_all(command.file);
  if (!text) return text.error();
  const Result<std::string> whole = api::with_key(*text, command.file, *key);
  if (!whole) return whole.error();
  if (const Result<void> added = file->append(std::string_view(*whole).substr(text->size()));
      !added)
    return added.error();
  return key;
}

std::string number_or_none(int64_t number) {
  return number == 0 ? "-" : fmt::format("{}", number);
}

std::string_view word_of(dispatch::Priority priority) {
  switch (priority) {
    case dispatch::Priority::kInteractive:
      return "interactive";
    case dispatch::Priority::kNormal:
      return "normal";
    case dispatch::Priority::kBatch:
      return "batch";
  }
  return "";
}

json::object key_json(const api::Key& key) {
  return {{"name", key.name},
          {"rpm", key.limits.requests_per_minute},
          {"tpm", key.limits.tokens_per_minute},
          {"in_flight", key.limits.in_flight_max},
          {"priority", word_of(key.limits.priority_max)},
          {"weight", key.limits.weight},
          {"admin", key.admin}};
}

json::array keys_json(const std::vector<api::Key>& keys) {
  json::array list;
  for (const api::Key& key : keys)
    list.push_back(key_json(key));
  return list;
}

// As the list has it, and the key itself.
json::object new_key_json(const api::NewKey& made, const std::string& file) {
  const Result<api::KeyRing> ring = api::KeyRing::parse(made.line, file);
  json::object object = ring ? key_json(ring->keys().at(0)) : json::object();
  object["key"] = made.key;
  object["file"] = file;
  return object;
}

std::string keys_text(const std::vector<api::Key>& keys) {
  size_t width = 4;
  for (const api::Key& key : keys)
    width = std::max(width, key.name.size());
  std::string text = fmt::format("{:<{}}  {:>8}  {:>10}  {:>9}  {:>6}  {}\n", "name", width, "rpm",
                                 "tpm", "in flight", "weight", "priority");
  for (const api::Key& key : keys) {
    text += fmt::format("{:<{}}  {:>8}  {:>10}  {:>9}  {:>6}  {}{}\n", key.name, width,
                        number_or_none(key.limits.requests_per_minute),
                        number_or_none(key.limits.tokens_per_minute),
                        number_or_none(key.limits.in_flight_max), key.limits.weight,
                        word_of(key.limits.priority_max), key.admin ? ", admin" : "");
  }
  return text;
}

}  // namespace

int keys_add_command(const KeysAddCommand& command) {
  const Result<api::NewKey> key = add_key(command);
  if (!key) return fail_keys(key.error());
  if (command.json) {
    fmt::print("{}\n", json::serialize(new_key_json(*key, command.file)));
    return 0;
  }
  fmt::print("{}\n", key->key);
  fmt::print(
      stderr,
      "windrow: this is the key of {}; {} does not contain it, so it cannot be shown again\n",
      command.name, command.file);
  return 0;
}

int keys_list_command(const KeysListCommand& command) {
  store::PosixDisk disk;
  const Result<std::string> text = disk.read_all(command.file);
  if (!text) return fail_keys(text.error());
  const Result<api::KeyRing> keys = api::KeyRing::parse(*text, command.file);
  if (!keys) return fail_keys(keys.error());
  if (command.json) {
    fmt::print("{}\n", json::serialize(keys_json(keys->keys())));
  } else {
    fmt::print("{}", keys_text(keys->keys()));
  }
  return 0;
}

}  // namespace windrow::app
