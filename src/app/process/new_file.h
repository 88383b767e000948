// NewFile: a file that is written piece by piece and has its name only when it is complete. Until
// then its bytes are in a file beside it, NAME.part.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "store/disk.h"

namespace windrow::app {

// Used by one thread at a time. All methods may block on the disk.
class NewFile {
 public:
  // `disk` outlives it. What an earlier, interrupted try left of NAME.part is replaced. Errors:
  // kInvalid for a folder or device, kConflict while another program writes it, kDiskFull, kIo.
  static Result<std::unique_ptr<NewFile>> open(store::Disk& disk, std::string path);

  // Removes NAME.part, unless finish() has succeeded.
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  // Errors: kDiskFull, kIo.
  Result<void> append(std::string_view bytes);

  // All bytes are on the disk and have their name, in place of a file that had it. Once. Errors as
  // append.
  Result<void> finish();

  uint64_t bytes() const { return bytes_; }

 private:
  NewFile(store::Disk& disk, std::string path) : disk_(disk), path_(std::move(path)) {}
  std::string part() const { return path_ + ".part"; }

  store::Disk& disk_;
  const std::string path_;
  std::unique_ptr<store::FileLock> lock_;
  std::unique_ptr<store::AppendFile> file_;  // null: finished
  uint64_t bytes_ = 0;
};

}  // namespace windrow::app
