// MemoryDisk: a disk in memory that knows what would survive a loss of power: the bytes of a file
// up to its last sync, under the names the last sync of the folder saw.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/random.h"
#include "store/disk.h"

namespace windrow::store::testing {

// Thread-safe. There are no folders: every name is a file.
class MemoryDisk final : public Disk {
 public:
  Result<std::unique_ptr<AppendFile>> open_append(const std::string& path) override;
  Result<std::unique_ptr<ReadFile>> open_read(const std::string& path) override;
  Result<std::string> read_all(const std::string& path) override;
  Result<void> write_atomically(const std::string& path, std::string_view text) override;
  Result<void> rename(const std::string& from, const std::string& to) override;
  Result<void> remove(const std::string& path) override;
  bool exists(const std::string& path) const override;
  Result<void> sync_folder_of(const std::string& path) override;
  Result<std::unique_ptr<FileLock>> lock(const std::string& path) override;
  Result<std::unique_ptr<FileLock>> lock_file(const std::string& path) override;
  Result<std::optional<std::string>> lock_holder(const std::string& path) const override;

  // Another name for a file that is there, as a hard link.
  void link(const std::string& path, const std::string& name);

  // As the end of the processes that hold them does.
  void release_locks();

  // Another disk in the same state, without locks.
  std::unique_ptr<MemoryDisk> copy() const;

  // Nothing that was not synced remains.
  void drop_unsynced();

  // What a real disk may do: of what was not synced some beginning remains, some of it as zeros;
  // new names remain or not.
  void lose_power(Random& random);

  // For tests to put a file there, or look at one ("" when there is none).
  void put(const std::string& path, std::string_view text);
  std::string get(const std::string& path) const;
  std::set<std::string> names() const;

 private:
  struct Content {
    std::string now;
    std::string synced;
  };
  class Append;
  class Read;
  class Lock;
  class ContentLock;
  using Names = std::map<std::string, std::shared_ptr<Content>>;

  mutable std::mutex mutex_;
  Names names_;
  Names synced_names_;
  std::shared_ptr<std::set<std::string>> locks_ = std::make_shared<std::set<std::string>>();
  std::shared_ptr<std::set<const Content*>> content_locks_ =
      std::make_shared<std::set<const Content*>>();
};

}  // namespace windrow::store::testing
