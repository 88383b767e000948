#include "model_store/model_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <filesystem>
#include <limits>
#include <memory>
#include <mutex>
#include <system_error>
#include <utility>

#include "base/format.h"

namespace windrow::model_store {
namespace {

namespace fs = std::filesystem;

constexpr Duration kLockLook = std::chrono::milliseconds(500);

// Left free, so that a download does not stop everything else on the disk.
constexpr uint64_t kFreeBytesMin = uint64_t{64} << 20;

void wait_for(Duration duration) {
  std::mutex mutex;
  std::condition_variable never;
  std::unique_lock lock(mutex);
  never.wait_for(lock, duration, [] { return false; });
}

uint64_t free_bytes_below(const std::string& folder) {
  std::error_code error;
  const fs::space_info space = fs::space(folder, error);
  return error ? std::numeric_limits<uint64_t>::max() : space.available;
}

ModelStoreOptions with_defaults(ModelStoreOptions options) {
  if (!options.free_bytes) options.free_bytes = free_bytes_below;
  if (!options.wait) options.wait = wait_for;
  return options;
}

}  // namespace

Result<http::Url> parse_hub_url(std::string_view text) {
  Result<http::Url> url = http::parse_url(text);
  if (!url) return url.error();
  if (!url->tls && !http::is_loopback(*url)) {
    return Error{
        ErrorKind::kInvalid,
        fmt::format("'{}' is no hub to trust: over plain http anybody on the way could see "
                    "the token and put other files in place; write https://",
                    text)};
  }
  return url;
}

ModelStore::ModelStore(http::Client& client, store::Disk& disk, ModelStoreOptions options)
    : client_(client), disk_(disk), options_(with_defaults(std::move(options))) {}

std::string ModelStore::path_of(const ModelSource& source) const {
  return fmt::format("{}/{}/{}", options_.folder, source.folder, source.file);
}

// As it was when it was complete.
bool ModelStore::is_complete(const std::string& path) const {
  std::error_code error;
  const uintmax_t bytes = fs::file_size(path, error);
  if (error) return false;
  const Result<std::string> record = disk_.read_all(path + ".json");
  const auto state = record ? parse_part_state(*record) : std::nullopt;
  // A file without a record was put there by the user.
  return !state || !state->of.bytes || *state->of.bytes == bytes;
}

std::vector<size_t> ModelStore::missing(const std::vector<ModelSource>& sources) const {
  std::vector<size_t> missing;
  for (size_t i = 0; i < sources.size(); ++i) {
    if (!is_complete(path_of(sources[i]))) missing.push_back(i);
  }
  return missing;
}

Result<std::unique_ptr<store::FileLock>> ModelStore::lock(const std::string& path,
                                                          const DownloadEvents& events) {
  for (bool said = false;;) {
    Result<std::unique_ptr<store::FileLock>> lock = disk_.lock(path + ".lock");
    if (lock || lock.error().kind != ErrorKind::kConflict) return lock;
    if (!std::exchange(said, true) && events.on_note)
      events.on_note(fmt::format("waiting for another download of it: {}", lock.error().message));
    options_.wait(kLockLook);
  }
}

Result<std::string> ModelStore::fetch(std::string_view text, const DownloadEvents& events) {
  const Result<http::Url> hub = parse_hub_url(options_.hub);
  if (!hub) return hub.error().in("HF_ENDPOINT");
  const Result<std::vector<ModelSource>> sources = parse_source(text, *hub);
  if (!sources) return sources.error();
  std::string path = path_of(sources->front());
  if (missing(*sources).empty()) return path;

  const std::string folder = fs::path(path).parent_path().string();
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) {
    return Error{ErrorKind::kIo,
                 fmt::format("{}: the cache folder cannot be made: {}; set XDG_CACHE_HOME to a "
                             "folder that can be written",
                             folder, error.message())};
  }
  const Result<std::unique_ptr<store::FileLock>> locked = lock(path, events);
  if (!locked) return locked.error();
  if (const Result<void> downloaded = download(*sources, events); !downloaded)
    return downloaded.error();
  return path;
}

// All that is missing is looked up first: one message about room is better than one per part.
Result<void> ModelStore::download(const std::vector<ModelSource>& sources,
                                  const DownloadEvents& events) {
  const DownloadTools tools{.client = client_,
                            .disk = disk_,
                            .events = events,
                            .token = options_.token,
                            .wait = options_.wait};
  std::vector<std::pair<std::unique_ptr<Download>, RemoteFile>> downloads;
  uint64_t bytes_needed = 0;
  for (const size_t i : missing(sources)) {
    const ModelSource& source = sources[i];
    auto download = std::make_unique<Download>(tools, source, path_of(source));
    Result<RemoteFile> remote = download->look_up();
    if (!remote) return remote.error();
    if (!source.sha256.empty() && !remote->sha256.empty() && source.sha256 != remote->sha256) {
      return Error{ErrorKind::kUnavailable,
                   fmt::format("{}: its SHA-256 is {}, not the one behind the #", source.text,
                               remote->sha256)};
    }
    if (!source.sha256.empty()) remote->sha256 = source.sha256;
    const Result<uint64_t> there = download->bytes_there(*remote);
    if (!there) return there.error();
    if (remote->bytes) bytes_needed += *remote->bytes - std::min(*there, *remote->bytes);
    downloads.emplace_back(std::move(download), *std::move(remote));
  }
  const std::string folder = fs::path(path_of(sources.front())).parent_path().string();
  const uint64_t bytes_free = options_.free_bytes(folder);
  if (bytes_needed > 0 && bytes_free < bytes_needed + kFreeBytesMin) {
    return Error{ErrorKind::kDiskFull,
                 fmt::format("{}: there is no room for it: {} are to come, and {} are free below "
                             "{}; make room, or set XDG_CACHE_HOME to a folder with more",
                             sources.front().text, human_bytes(bytes_needed),
                             human_bytes(bytes_free), options_.folder)};
  }
  for (auto& [download, remote] : downloads) {
    if (const Result<void> done = download->run(std::move(remote)); !done) return done;
  }
  return {};
}

}  // namespace windrow::model_store
