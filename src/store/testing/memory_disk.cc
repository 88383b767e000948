#include "store/testing/memory_disk.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace windrow::store::testing {
namespace {

Error not_found(const std::string& path) {
  return Error{ErrorKind::kNotFound, fmt::format("{} does not exist", path)};
}

}  // namespace

class MemoryDisk::Append final : public AppendFile {
 public:
  Append(MemoryDisk& disk, std::shared_ptr<Content> content, std::string path)
      : disk_(disk), content_(std::move(content)), path_(std::move(path)) {}

  Result<void> append(std::string_view bytes) override {
    const std::scoped_lock lock(disk_.mutex_);
    content_->now += bytes;
    return {};
  }

  Result<void> sync() override {
    const std::scoped_lock lock(disk_.mutex_);
    content_->synced = content_->now;
    return {};
  }

  Result<void> truncate(uint64_t size) override {
    const std::scoped_lock lock(disk_.mutex_);
    content_->now.resize(size);
    return {};
  }

  Result<uint64_t> size() const override {
    const std::scoped_lock lock(disk_.mutex_);
    return content_->now.size();
  }

  Result<void> check_in_place(uint64_t size) const override {
    const std::scoped_lock lock(disk_.mutex_);
    const auto found = disk_.names_.find(path_);
    if (found != disk_.names_.end() && found->second == content_ && content_->now.size() == size)
      return {};
    return Error{ErrorKind::kConflict, fmt::format("{} was changed while it was written", path_)};
  }

 private:
  MemoryDisk& disk_;
  std::shared_ptr<Content> content_;  // shared with the disk's names: a renamed file stays open
  const std::string path_;
};

class MemoryDisk::Read final : public ReadFile {
 public:
  Read(MemoryDisk& disk, std::shared_ptr<Content> content)
      : disk_(disk), content_(std::move(content)) {}

  Result<size_t> read_at(uint64_t offset, char* buffer, size_t size) override {
    const std::scoped_lock lock(disk_.mutex_);
    const std::string& bytes = content_->now;
    if (offset >= bytes.size()) return size_t{0};
    const size_t count = std::min<size_t>(size, bytes.size() - offset);
    std::memcpy(buffer, bytes.data() + offset, count);
    return count;
  }

  Result<uint64_t> size() const override {
    const std::scoped_lock lock(disk_.mutex_);
    return content_->now.size();
  }

 private:
  MemoryDisk& disk_;
  std::shared_ptr<Content> content_;
};

class MemoryDisk::Lock final : public FileLock {
 public:
  Lock(std::shared_ptr<std::set<std::string>> locks, std::string path)
      : locks_(std::move(locks)), path_(std::move(path)) {}
  ~Lock() override { locks_->erase(path_); }

  bool is_of(const std::string& path) const override { return path == path_; }

 private:
  std::shared_ptr<std::set<std::string>> locks_;
  std::string path_;
};

class MemoryDisk::ContentLock final : public FileLock {
 public:
  ContentLock(const MemoryDisk& disk, std::shared_ptr<const Content> content)
      : disk_(disk), locks_(disk.content_locks_), content_(std::move(content)) {}
  ~ContentLock() override { locks_->erase(content_.get()); }

  bool is_of(const std::string& path) const override {
    const std::scoped_lock lock(disk_.mutex_);
    const auto found = disk_.names_.find(path);
    return found != disk_.names_.end() && found->second == content_;
  }

 private:
  const MemoryDisk& disk_;
  const std::shared_ptr<std::set<const Content*>> locks_;
  const std::shared_ptr<const Content> content_;
};

Result<std::unique_ptr<AppendFile>> MemoryDisk::open_append(const std::string& path) {
  const std::scoped_lock lock(mutex_);
  std::shared_ptr<Content>& content = names_[path];
  if (content == nullptr) content = std::make_shared<Content>();
  return std::make_unique<Append>(*this, content, path);
}

Result<std::unique_ptr<ReadFile>> MemoryDisk::open_read(const std::string& path) {
  const std::scoped_lock lock(mutex_);
  const auto found = names_.find(path);
  if (found == names_.end()) return not_found(path);
  return std::make_unique<Read>(*this, found->second);
}

Result<std::string> MemoryDisk::read_all(const std::string& path) {
  const std::scoped_lock lock(mutex_);
  const auto found = names_.find(path);
  if (found == names_.end()) return not_found(path);
  return found->second->now;
}

Result<void> MemoryDisk::write_atomically(const std::string& path, std::string_view text) {
  put(path, text);
  return {};
}

Result<void> MemoryDisk::rename(const std::string& from, const std::string& to) {
  const std::scoped_lock lock(mutex_);
  const auto found = names_.find(from);
  if (found == names_.end()) return not_found(from);
  names_[to] = found->second;
  names_.erase(from);
  return {};
}

Result<void> MemoryDisk::remove(const std::string& path) {
  const std::scoped_lock lock(mutex_);
  if (names_.erase(path) == 0) return not_found(path);
  return {};
}

bool MemoryDisk::exists(const std::string& path) const {
  const std::scoped_lock lock(mutex_);
  return names_.contains(path);
}

Result<void> MemoryDisk::sync_folder_of(const std::string&) {
  const std::scoped_lock lock(mutex_);
  synced_names_ = names_;
  return {};
}

Result<std::unique_ptr<FileLock>> MemoryDisk::lock(const std::string& path) {
  const std::scoped_lock lock(mutex_);
  if (!locks_->insert(path).second) {
    return Error{ErrorKind::kConflict, fmt::format("{} is held by process 1", path)};
  }
  return std::make_unique<Lock>(locks_, path);
}

Result<std::unique_ptr<FileLock>> MemoryDisk::lock_file(const std::string& path) {
  const std::scoped_lock lock(mutex_);
  const auto found = names_.find(path);
  if (found == names_.end()) return not_found(path);
  if (!content_locks_->insert(found->second.get()).second) {
    return Error{ErrorKind::kConflict, fmt::format("{} is held by another process", path)};
  }
  return std::make_unique<ContentLock>(*this, found->second);
}

void MemoryDisk::link(const std::string& path, const std::string& name) {
  const std::scoped_lock lock(mutex_);
  names_[name] = names_.at(path);
  synced_names_[name] = names_[name];
}

Result<std::optional<std::string>> MemoryDisk::lock_holder(const std::string& path) const {
  const std::scoped_lock lock(mutex_);
  if (!locks_->contains(path)) return std::optional<std::string>();
  return std::optional<std::string>("process 1");
}

void MemoryDisk::release_locks() {
  const std::scoped_lock lock(mutex_);
  locks_ = std::make_shared<std::set<std::string>>();
  content_locks_ = std::make_shared<std::set<const Content*>>();
}

std::unique_ptr<MemoryDisk> MemoryDisk::copy() const {
  const std::scoped_lock lock(mutex_);
  auto disk = std::make_unique<MemoryDisk>();
  std::map<std::shared_ptr<Content>, std::shared_ptr<Content>> copies;
  const auto copy_names = [&](const Names& from, Names& to) {
    for (const auto& [name, content] : from) {
      std::shared_ptr<Content>& copy = copies[content];
      if (copy == nullptr) copy = std::make_shared<Content>(*content);
      to[name] = copy;
    }
  };
  copy_names(names_, disk->names_);
  copy_names(synced_names_, disk->synced_names_);
  return disk;
}

void MemoryDisk::drop_unsynced() {
  const std::scoped_lock lock(mutex_);
  names_ = synced_names_;
  for (auto& [name, content] : names_)
    content->now = content->synced;
}

void MemoryDisk::lose_power(Random& random) {
  const std::scoped_lock lock(mutex_);
  if (random.chance(0.5)) names_ = synced_names_;
  for (auto& [name, content] : names_) {
    std::string& now = content->now;
    const std::string& synced = content->synced;
    if (!now.starts_with(synced)) {
      // Cut and not synced since: either state may be found.
      if (random.chance(0.5)) now = synced;
      continue;
    }
    now.resize(synced.size() + random.below(now.size() - synced.size() + 1));
    // The size reached the disk, the last blocks did not.
    if (random.chance(0.25)) {
      const size_t zeros = random.below(now.size() - synced.size() + 1);
      std::fill(now.end() - static_cast<std::ptrdiff_t>(zeros), now.end(), '\0');
    }
  }
  for (auto& [name, content] : names_)
    content->synced = content->now;
  synced_names_ = names_;
}

void MemoryDisk::put(const std::string& path, std::string_view text) {
  const std::scoped_lock lock(mutex_);
  const auto content =
      std::make_shared<Content>(Content{.now = std::string(text), .synced = std::string(text)});
  names_[path] = content;
  synced_names_[path] = content;
}

std::string MemoryDisk::get(const std::string& path) const {
  const std::scoped_lock lock(mutex_);
  const auto found = names_.find(path);
  return found == names_.end() ? std::string() : found->second->now;
}

std::set<std::string> MemoryDisk::names() const {
  const std::scoped_lock lock(mutex_);
  std::set<std::string> names;
  for (const auto& [name, content] : names_)
    names.insert(name);
  return names;
}

}  // namespace windrow::store::testing
