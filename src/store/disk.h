// Disk: the operations of a file system that Windrow uses, as an interface, so that tests can fill
// the disk, break it and drop unsynced bytes. Paths are relative to the working folder or absolute.
// All methods may block on the disk.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace windrow::store {

// A file that is written at its end. Used by one thread at a time. Closing does not sync.
class AppendFile {
 public:
  virtual ~AppendFile() = default;

  // Appends all of `bytes`, or fails; then the file may have any beginning of them. kDiskFull for
  // no space, quota and file size limit; kIo otherwise.
  virtual Result<void> append(std::string_view bytes) = 0;

  // Once this has returned, all appended bytes survive a power failure.
  virtual Result<void> sync() = 0;

  virtual Result<void> truncate(uint64_t size) = 0;
  virtual Result<uint64_t> size() const = 0;

  // kConflict, with what happened, if another program has changed the file: its name does not lead
  // to it any more (it was removed or renamed), or it is not `size` bytes long.
  virtual Result<void> check_in_place(uint64_t size) const = 0;
};

// A file read from the front, or at an offset. Used by one thread at a time.
class ReadFile {
 public:
  virtual ~ReadFile() = default;

  // Reads up to `size` bytes at `offset` into `buffer` and returns how many; fewer only at the end.
  virtual Result<size_t> read_at(uint64_t offset, char* buffer, size_t size) = 0;
  virtual Result<uint64_t> size() const = 0;
};

// A lock that is held until it is destroyed, or until the process ends in any way.
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

  // Reads a whole small file. kNotFound, kIo.
  virtual Result<std::string> read_all(const std::string& path) = 0;

  // Replaces the contents of a file. At every moment, also after a power failure, it has either its
  // old contents or all of `text`.
  virtual Result<void> write_atomically(const std::string& path, std::string_view text) = 0;

  virtual Result<void> rename(const std::string& from, const std::string& to) = 0;
  virtual Result<void> remove(const std::string& path) = 0;
  virtual bool exists(const std::string& path) const = 0;

  // Once this has returned, names in the folder of `path` survive a power failure.
  virtual Result<void> sync_folder_of(const std::string& path) = 0;

  // Takes a lock file, which is created if needed. kConflict, with the holder's process id, if
  // another process or another lock of this process holds it. Does not block.
  virtual Result<std::unique_ptr<FileLock>> lock(const std::string& path) = 0;

  // Locks a file with contents of its own, under every name that it has; writes nothing into it.
  // kNotFound, kConflict.
  virtual Result<std::unique_ptr<FileLock>> lock_file(const std::string& path) = 0;

  // The holder of that lock ("process 1234"); nothing if it is free. Does not take it and creates
  // no file. A lock() at the same moment may be refused because of it.
  virtual Result<std::optional<std::string>> lock_holder(const std::string& path) const = 0;
};

}  // namespace windrow::store
