#include "store/testing/faulty_disk.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace windrow::store::testing {
namespace {

Error broken(std::string_view what) {
  return Error{ErrorKind::kIo, fmt::format("{}: injected fault", what)};
}

// Counts down; true when it was at its end already.
bool used_up(std::optional<int64_t>& count) {
  if (!count) return false;
  if (*count == 0) return true;
  --*count;
  return false;
}

}  // namespace

class FaultyDisk::Append final : public AppendFile {
 public:
  Append(FaultyDisk& disk, std::unique_ptr<AppendFile> beneath)
      : disk_(disk), beneath_(std::move(beneath)) {}

  Result<void> append(std::string_view bytes) override {
    const std::scoped_lock lock(disk_.mutex_);
    const bool was_dead = disk_.dead_;
    if (auto alive = disk_.operate(); !alive) {
      if (was_dead) return alive;
      const auto part =
          static_cast<size_t>(static_cast<double>(bytes.size()) * disk_.faults_.last_append_part);
      if (auto done = beneath_->append(bytes.substr(0, part)); !done) return done;
      return alive;
    }
    std::optional<int64_t>& short_in = disk_.faults_.appends_until_short;
    if (used_up(short_in)) {
      short_in.reset();
      if (auto done = beneath_->append(bytes.substr(0, bytes.size() / 2)); !done) return done;
      return broken("short write");
    }
    std::optional<int64_t>& room = disk_.faults_.bytes_until_full;
    const auto size = static_cast<int64_t>(bytes.size());
    if (room && size > *room) {
      const auto fits = static_cast<size_t>(std::exchange(*room, 0));
      if (auto done = beneath_->append(bytes.substr(0, fits)); !done) return done;
      return Error{ErrorKind::kDiskFull, "cannot write: No space left on device"};
    }
    if (room) *room -= size;
    disk_.bytes_written_ += size;
    return beneath_->append(bytes);
  }

  Result<void> sync() override {
    const std::scoped_lock lock(disk_.mutex_);
    if (auto alive = disk_.operate(); !alive) return alive;
    if (used_up(disk_.faults_.syncs_until_failure)) return broken("sync");
    return beneath_->sync();
  }

  Result<void> truncate(uint64_t size) override {
    const std::scoped_lock lock(disk_.mutex_);
    if (auto alive = disk_.operate(); !alive) return alive;
    if (disk_.faults_.truncate_fails) return broken("truncate");
    const auto before = beneath_->size();
    if (!before) return before.error();
    std::optional<int64_t>& room = disk_.faults_.bytes_until_full;
    if (room && *before > size) *room += static_cast<int64_t>(*before - size);
    return beneath_->truncate(size);
  }

  Result<uint64_t> size() const override { return beneath_->size(); }

  Result<void> check_in_place(uint64_t size) const override {
    return beneath_->check_in_place(size);
  }

 private:
  FaultyDisk& disk_;
  std::unique_ptr<AppendFile> beneath_;
};

class FaultyDisk::Read final : public ReadFile {
 public:
  Read(FaultyDisk& disk, std::unique_ptr<ReadFile> beneath)
      : disk_(disk), beneath_(std::move(beneath)) {}

  Result<size_t> read_at(uint64_t offset, char* buffer, size_t size) override {
    {
      const std::scoped_lock lock(disk_.mutex_);
      if (disk_.faults_.read_fails) return broken("read");
    }
    return beneath_->read_at(offset, buffer, size);
  }

  Result<uint64_t> size() const override { return beneath_->size(); }

 private:
  FaultyDisk& disk_;
  std::unique_ptr<ReadFile> beneath_;
};

FaultyDisk::FaultyDisk(Disk& beneath, const Faults& faults) : beneath_(beneath), faults_(faults) {}

void FaultyDisk::set_faults(const Faults& faults) {
  const std::scoped_lock lock(mutex_);
  faults_ = faults;
}

int64_t FaultyDisk::operations() const {
  const std::scoped_lock lock(mutex_);
  return operations_;
}

int64_t FaultyDisk::bytes_written() const {
  const std::scoped_lock lock(mutex_);
  return bytes_written_;
}

Result<void> FaultyDisk::operate() {
  if (!dead_ && used_up(faults_.operations_until_death)) dead_ = true;
  if (dead_) return broken("killed");
  ++operations_;
  return {};
}

Result<std::unique_ptr<AppendFile>> FaultyDisk::open_append(const std::string& path) {
  const std::scoped_lock lock(mutex_);
  if (!beneath_.exists(path)) {
    if (auto alive = operate(); !alive) return alive.error();
  }
  if (faults_.open_append_fails) return broken("open");
  auto file = beneath_.open_append(path);
  if (!file) return file.error();
  return std::make_unique<Append>(*this, *std::move(file));
}

Result<std::unique_ptr<ReadFile>> FaultyDisk::open_read(const std::string& path) {
  auto file = beneath_.open_read(path);
  if (!file) return file.error();
  return std::make_unique<Read>(*this, *std::move(file));
}

Result<std::string> FaultyDisk::read_all(const std::string& path) {
  const std::scoped_lock lock(mutex_);
  if (faults_.read_fails) return broken("read");
  return beneath_.read_all(path);
}

Result<void> FaultyDisk::write_atomically(const std::string& path, std::string_view text) {
  const std::scoped_lock lock(mutex_);
  if (auto alive = operate(); !alive) return alive;
  if (faults_.write_atomically_fails) return broken("write");
  const auto size = static_cast<int64_t>(text.size());
  if (faults_.bytes_until_full && size > *faults_.bytes_until_full) {
    return Error{ErrorKind::kDiskFull, "cannot write: No space left on device"};
  }
  if (faults_.bytes_until_full) *faults_.bytes_until_full -= size;
  bytes_written_ += size;
  return beneath_.write_atomically(path, text);
}

Result<void> FaultyDisk::rename(const std::string& from, const std::string& to) {
  const std::scoped_lock lock(mutex_);
  if (auto alive = operate(); !alive) return alive;
  if (faults_.rename_fails) return broken("rename");
  return beneath_.rename(from, to);
}

Result<void> FaultyDisk::remove(const std::string& path) {
  const std::scoped_lock lock(mutex_);
  if (auto alive = operate(); !alive) return alive;
  return beneath_.remove(path);
}

bool FaultyDisk::exists(const std::string& path) const {
  return beneath_.exists(path);
}

Result<void> FaultyDisk::sync_folder_of(const std::string& path) {
  const std::scoped_lock lock(mutex_);
  if (auto alive = operate(); !alive) return alive;
  if (faults_.sync_folder_fails) return broken("sync folder");
  return beneath_.sync_folder_of(path);
}

Result<std::unique_ptr<FileLock>> FaultyDisk::lock(const std::string& path) {
  return beneath_.lock(path);
}

Result<std::unique_ptr<FileLock>> FaultyDisk::lock_file(const std::string& path) {
  return beneath_.lock_file(path);
}

Result<std::optional<std::string>> FaultyDisk::lock_holder(const std::string& path) const {
  return beneath_.lock_holder(path);
}

}  // namespace windrow::store::testing
