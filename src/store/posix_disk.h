// PosixDisk: Disk on the file system of the machine.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "store/disk.h"

namespace windrow::store {

// Thread-safe. The program has to ignore SIGXFSZ, so that a file size limit is reported as
// kDiskFull instead of ending the process.
class PosixDisk final : public Disk {
 public:
  // Only regular files: kInvalid for a folder or device. The name of a new file survives a power
  // failure only after sync_folder_of.
  Result<std::unique_ptr<AppendFile>> open_append(const std::string& path) override;
  Result<std::unique_ptr<ReadFile>> open_read(const std::string& path) override;
  Result<std::string> read_all(const std::string& path) override;

  // Writes PATH.tmp first and renames it; PATH.tmp is gone afterwards in any case.
  Result<void> write_atomically(const std::string& path, std::string_view text) override;

  Result<void> rename(const std::string& from, const std::string& to) override;
  Result<void> remove(const std::string& path) override;
  bool exists(const std::string& path) const override;
  Result<void> sync_folder_of(const std::string& path) override;

  // flock on the file, which is created if needed, names the holder while it is locked, and stays
  // when the lock is released: removing it would let two processes lock two files of one name.
  Result<std::unique_ptr<FileLock>> lock(const std::string& path) override;
  Result<std::unique_ptr<FileLock>> lock_file(const std::string& path) override;
  Result<std::optional<std::string>> lock_holder(const std::string& path) const override;
};

}  // namespace windrow::store
