#include "app/process/new_file.h"

#include <tuple>
#include <utility>

namespace windrow::app {

Result<std::unique_ptr<NewFile>> NewFile::open(store::Disk& disk, std::string path) {
  std::unique_ptr<NewFile> made(new NewFile(disk, std::move(path)));
  Result<std::unique_ptr<store::AppendFile>> file = disk.open_append(made->part());
  if (!file) return file.error();
  Result<std::unique_ptr<store::FileLock>> lock = disk.lock_file(made->part());
  if (!lock) return lock.error();
  if (const Result<void> emptied = (*file)->truncate(0); !emptied) return emptied.error();
  made->file_ = *std::move(file);
  made->lock_ = *std::move(lock);
  return made;
}

NewFile::~NewFile() {
  if (!file_) return;
  file_.reset();
  // Where it cannot be removed it is only in the way.
  std::ignore = disk_.remove(part());
}

Result<void> NewFile::append(std::string_view bytes) {
  if (Result<void> done = file_->append(bytes); !done) return done;
  bytes_ += bytes.size();
  return {};
}

Result<void> NewFile::finish() {
  if (Result<void> synced = file_->sync(); !synced) return synced;
  if (Result<void> renamed = disk_.rename(part(), path_); !renamed) return renamed;
  file_.reset();
  return disk_.sync_folder_of(path_);
}

}  // namespace windrow::app
