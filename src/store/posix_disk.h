// PosixDisk: the file system of the machine.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "store/disk.h"

namespace windrow::store {

// Thread-safe. Whoever uses one ignores SIGXFSZ, so that a file size limit comes back as kDiskFull
// instead of ending the process.
class PosixDisk final : public Disk {
 public:
  // Only regular files: kInvalid for a folder or device. A new file's name is not yet safe from a
  // loss of power; sync_folder_of makes it so.
  Result<std::unique_ptr<AppendFile>> open_append(const std::string& path) override;
  Result<std::unique_ptr<ReadFile>> open_read(const std::string& path) override;
  Result<std::string> read_all(const std::string& path) override;

  // By way of PATH.tmp, which is gone afterwards whether it worked or not.
  Result<void> write_atomically(const std::string& path, std::string_view text) override;

  Result<void> rename(const std::string& from, const std::string& to) override;
  Result<void> remove(const std::string& path) override;
  bool exists(const std::string& path) const override;
  Result<void> sync_folder_of(const std::string& path) override;

  // flock on the file, which is made when it is not there and stays when the lock is let go:
  // removing it would let two processes lock two files of one name. While held it says who holds
  // it.
  Result<std::unique_ptr<FileLock>> lock(const std::string& path) override;
  Result<std::unique_ptr<FileLock>> lock_file(const std::string& path) override;
  Result<std::optional<std::string>> lock_holder(const std::string& path) const override;
};

}  // namespace windrow::store
