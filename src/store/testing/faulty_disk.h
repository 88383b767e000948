// FaultyDisk: another disk, with switches for what disks do to people. What a loss of power does is
// asked of the disk beneath: MemoryDisk::drop_unsynced and MemoryDisk::lose_power.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "store/disk.h"

namespace windrow::store::testing {

// Everything works unless said otherwise. A count of 0 means that the next one fails.
struct Faults {
  // Full: appends and atomic writes take so many bytes in all; then as much as fits is written and
  // the call fails with kDiskFull. Cutting a file gives its bytes back.
  std::optional<int64_t> bytes_until_full;

  // A write that stops in the middle: after so many appends, one writes half of its bytes and fails
  // with kIo; those after it work again.
  std::optional<int64_t> appends_until_short;

  // After so many syncs of files, this one and all after it fail with kIo.
  std::optional<int64_t> syncs_until_failure;

  // Each fails every call of its kind with kIo.
  bool truncate_fails = false;
  bool rename_fails = false;
  bool write_atomically_fails = false;
  bool sync_folder_fails = false;
  bool open_append_fails = false;
  bool read_fails = false;

  // kill -9: after so many operations that change the disk (open_append of a new name, append,
  // sync, truncate, rename, remove, write_atomically, sync_folder_of) nothing works any more. When
  // the last one is an append, this part of its bytes, from 0 to 1, still arrives.
  std::optional<int64_t> operations_until_death;
  double last_append_part = 0.5;
};

// Thread-safe. `beneath` outlives it and every file it opened.
class FaultyDisk final : public Disk {
 public:
  explicit FaultyDisk(Disk& beneath, const Faults& faults = {});

  // From now on.
  void set_faults(const Faults& faults);

  // Operations that changed the disk so far (see operations_until_death), and bytes written.
  int64_t operations() const;
  int64_t bytes_written() const;

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

 private:
  class Append;
  class Read;

  // Counts one changing operation; the error when it happens after death, or is the last one.
  Result<void> operate();

  mutable std::mutex mutex_;
  Disk& beneath_;
  Faults faults_;
  int64_t operations_ = 0;
  int64_t bytes_written_ = 0;
  bool dead_ = false;
};

}  // namespace windrow::store::testing
