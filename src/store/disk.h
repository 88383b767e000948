// Disk: the few things Windrow asks of a file system, behind an interface so that tests can fill
// it, break it and drop what was never synced. Paths are relative to the working folder or
// absolute.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace windrow::store {

// A file that only grows at its end. Used by one thread at a time. Closing does not sync.
class AppendFile {
 public:
  virtual ~AppendFile() = default;

  // All of `bytes` or an error; after an error the file may hold any beginning of them.
  // kDiskFull for no space, quota and file size limit; kIo otherwise.
  virtual Result<void> append(std::string_view bytes) = 0;

  // What was appended survives a loss of power once this returned.
  virtual Result<void> sync() = 0;

  virtual Result<void> truncate(uint64_t size) = 0;
  virtual Result<uint64_t> size() const = 0;

  // kConflict, saying what became of it, where its name does not lead to it any more (it was
  // removed or renamed) or it is not `size` bytes long: somebody else changed it.
  virtual Result<void> check_in_place(uint64_t size) const = 0;
};

// A file read from the front, or at an offset. Used by one thread at a time.
class ReadFile {
 public:
  virtual ~ReadFile() = default;

  // Up to `size` bytes at `offset` into `buffer`; fewer only at the end of the file.
  virtual Result<size_t> read_at(uint64_t offset, char* buffer, size_t size) = 0;
  virtual Result<uint64_t> size() const = 0;
};

// Held until destroyed, or until the process ends in whatever way.
class FileLock {
 public:
  virtual ~FileLock() = default;

  // Whether `path` leads to the file that is locked.
  virtual bool is_of(const std::string& path) const = 0;
};

// Thread-safe.
class Disk {
 public:
  virtual ~Disk() = default;

  virtual Result<std::unique_ptr<AppendFile>> open_append(const std::string& path) = 0;
  virtual Result<std::unique_ptr<ReadFile>> open_read(const std::string& path) = 0;

  // The whole file, for small ones. kNotFound when there is none.
  virtual Result<std::string> read_all(const std::string& path) = 0;

  // The file holds either what it held before or all of `text`, whatever happens in between.
  virtual Result<void> write_atomically(const std::string& path, std::string_view text) = 0;

  virtual Result<void> rename(const std::string& from, const std::string& to) = 0;
  virtual Result<void> remove(const std::string& path) = 0;
  virtual bool exists(const std::string& path) const = 0;

  // Names in the folder of a path survive a loss of power once this returned.
  virtual Result<void> sync_folder_of(const std::string& path) = 0;

  // kConflict, naming the holder's process id, when another process or lock holds it.
  virtual Result<std::unique_ptr<FileLock>> lock(const std::string& path) = 0;

  // The same for a file that is there and holds something else: nothing is written into it. It is
  // locked under every name that it has. kNotFound.
  virtual Result<std::unique_ptr<FileLock>> lock_file(const std::string& path) = 0;

  // Who holds that lock ("process 1234"); nothing when nobody does. Takes nothing and makes no
  // file. Only a lock() in the very same moment may be refused for it.
  virtual Result<std::optional<std::string>> lock_holder(const std::string& path) const = 0;
};

}  // namespace windrow::store
