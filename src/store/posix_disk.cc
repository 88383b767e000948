#include "store/posix_disk.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <optional>
#include <system_error>
#include <utility>

namespace windrow::store {
namespace {

ErrorKind error_kind(int error) {
  switch (error) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      return ErrorKind::kDiskFull;
    case ENOENT:
      return ErrorKind::kNotFound;
    case EISDIR:
    case ENOTDIR:
    case ENAMETOOLONG:
      return ErrorKind::kInvalid;
    default:
      return ErrorKind::kIo;
  }
}

// "cannot VERB PATH: REASON".
Error failure(std::string_view verb, const std::string& path, int error) {
  return Error{error_kind(error),
               fmt::format("cannot {} {}: {}", verb, path, std::generic_category().message(error))};
}

// Closes its descriptor; an error of close() would come too late to mean anything, as what matters
// was synced before.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }

  int get() const { return fd_; }

 private:
  int fd_;
};

// The result of a system call that signals may interrupt.
template <class Call>
auto retried(Call call) {
  auto result = call();
  while (result < 0 && errno == EINTR)
    result = call();
  return result;
}

Result<Descriptor> open_regular(const std::string& path, int flags, std::string_view verb) {
  // Not blocking, so that a pipe in the place of a file is refused instead of waited for.
  Descriptor file(
      retried([&] { return ::open(path.c_str(), flags | O_CLOEXEC | O_NONBLOCK, 0666); }));
  if (file.get() < 0) return failure(verb, path, errno);
  struct stat status = {};
  if (::fstat(file.get(), &status) != 0) return failure(verb, path, errno);
  if (!S_ISREG(status.st_mode)) {
    return Error{
        ErrorKind::kInvalid,
        fmt::format("cannot {} {}: it is not a regular file; give the name of a file", verb, path)};
  }
  return file;
}

Result<void> write_all(int fd, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t written = retried([&] { return ::write(fd, bytes.data(), bytes.size()); });
    if (written < 0) return failure("write", path, errno);
    if (written == 0) return failure("write", path, ENOSPC);
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return {};
}

Result<uint64_t> size_of(int fd, const std::string& path) {
  struct stat status = {};
  if (::fstat(fd, &status) != 0) return failure("measure", path, errno);
  return static_cast<uint64_t>(status.st_size);
}

bool is_same_file(const struct stat& one, const struct stat& other) {
  return one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

bool leads_to(const std::string& path, int fd) {
  struct stat named = {};
  struct stat open = {};
  return ::stat(path.c_str(), &named) == 0 && ::fstat(fd, &open) == 0 && is_same_file(named, open);
}

class PosixAppendFile final : public AppendFile {
 public:
  PosixAppendFile(Descriptor file, std::string path)
      : file_(std::move(file)), path_(std::move(path)) {}

  Result<void> append(std::string_view bytes) override {
    return write_all(file_.get(), bytes, path_);
  }

  Result<void> sync() override {
    if (retried([&] { return ::fdatasync(file_.get()); }) != 0) {
      return failure("sync", path_, errno);
    }
    return {};
  }

  Result<void> truncate(uint64_t size) override {
    if (retried([&] { return ::ftruncate(file_.get(), static_cast<off_t>(size)); }) != 0) {
      return failure("truncate", path_, errno);
    }
    return {};
  }

  Result<uint64_t> size() const override { return size_of(file_.get(), path_); }

  Result<void> check_in_place(uint64_t size) const override {
    struct stat named = {};
    if (::stat(path_.c_str(), &named) != 0) {
      if (errno != ENOENT && errno != ENOTDIR) return failure("look at", path_, errno);
      return Error{ErrorKind::kConflict,
                   fmt::format("{} was removed or renamed while it was written", path_)};
    }
    struct stat open = {};
    if (::fstat(file_.get(), &open) != 0) return failure("measure", path_, errno);
    if (!is_same_file(named, open)) {
      return Error{
          ErrorKind::kConflict,
          fmt::format("{} is another file now than the one that was being written", path_)};
    }
    const auto now = static_cast<uint64_t>(open.st_size);
    if (now == size) return {};
    return Error{ErrorKind::kConflict,
                 fmt::format("{} was {} by something else meanwhile: it has {} bytes and should "
                             "have {}",
                             path_, now < size ? "cut" : "written to", now, size)};
  }

 private:
  Descriptor file_;
  std::string path_;
};

class PosixReadFile final : public ReadFile {
 public:
  PosixReadFile(Descriptor file, std::string path)
      : file_(std::move(file)), path_(std::move(path)) {}

  Result<size_t> read_at(uint64_t offset, char* buffer, size_t size) override {
    size_t done = 0;
    while (done < size) {
      const ssize_t got = retried([&] {
        return ::pread(file_.get(), buffer + done, size - done, static_cast<off_t>(offset + done));
      });
      if (got < 0) return failure("read", path_, errno);
      if (got == 0) break;
      done += static_cast<size_t>(got);
    }
    return done;
  }

  Result<uint64_t> size() const override { return size_of(file_.get(), path_); }

 private:
  Descriptor file_;
  std::string path_;
};

class PosixLock final : public FileLock {
 public:
  explicit PosixLock(Descriptor file) : file_(std::move(file)) {}

  // The lock goes with the descriptor; the name of a holder that is gone would only mislead.
  ~PosixLock() override {
    if (::ftruncate(file_.get(), 0) != 0) return;
  }

  bool is_of(const std::string& path) const override { return leads_to(path, file_.get()); }

 private:
  Descriptor file_;
};

// For a file with contents of its own.
class PosixContentLock final : public FileLock {
 public:
  explicit PosixContentLock(Descriptor file) : file_(std::move(file)) {}

  bool is_of(const std::string& path) const override { return leads_to(path, file_.get()); }

 private:
  Descriptor file_;
};

std::string holder_of(int fd) {
  std::array<char, 32> text = {};
  const ssize_t size = ::pread(fd, text.data(), text.size(), 0);
  int64_t pid = 0;
  if (size > 0 && std::from_chars(text.data(), text.data() + size, pid).ec == std::errc()) {
    return fmt::format("process {}", pid);
  }
  return "another process";
}

std::string folder_of(const std::string& path) {
  const size_t slash = path.find_last_of('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace

Result<std::unique_ptr<AppendFile>> PosixDisk::open_append(const std::string& path) {
  auto file = open_regular(path, O_WRONLY | O_CREAT | O_APPEND, "open");
  if (!file) return file.error();
  return std::make_unique<PosixAppendFile>(*std::move(file), path);
}

Result<std::unique_ptr<ReadFile>> PosixDisk::open_read(const std::string& path) {
  auto file = open_regular(path, O_RDONLY, "read");
  if (!file) return file.error();
  return std::make_unique<PosixReadFile>(*std::move(file), path);
}

Result<std::string> PosixDisk::read_all(const std::string& path) {
  auto file = open_read(path);
  if (!file) return file.error();
  const auto size = (*file)->size();
  if (!size) return size.error();
  std::string text(*size, '\0');
  const auto got = (*file)->read_at(0, text.data(), text.size());
  if (!got) return got.error();
  text.resize(*got);
  return text;
}

Result<void> PosixDisk::write_atomically(const std::string& path, std::string_view text) {
  const std::string temporary = path + ".tmp";
  const auto written = [&]() -> Result<void> {
    auto file = open_regular(temporary, O_WRONLY | O_CREAT | O_TRUNC, "write");
    if (!file) return file.error();
    if (auto done = write_all(file->get(), text, temporary); !done) return done;
    if (retried([&] { return ::fsync(file->get()); }) != 0) {
      return failure("sync", temporary, errno);
    }
    return {};
  }();
  if (!written) {
    std::remove(temporary.c_str());
    return written;
  }
  if (auto done = rename(temporary, path); !done) {
    std::remove(temporary.c_str());
    return done;
  }
  return sync_folder_of(path);
}

Result<void> PosixDisk::rename(const std::string& from, const std::string& to) {
  if (std::rename(from.c_str(), to.c_str()) != 0) {
    const int error = errno;
    return failure(fmt::format("rename {} to", from), to, error);
  }
  return {};
}

Result<void> PosixDisk::remove(const std::string& path) {
  if (::unlink(path.c_str()) != 0) return failure("remove", path, errno);
  return {};
}

bool PosixDisk::exists(const std::string& path) const {
  struct stat status = {};
  return ::lstat(path.c_str(), &status) == 0;
}

Result<void> PosixDisk::sync_folder_of(const std::string& path) {
  const std::string folder = folder_of(path);
  const Descriptor file(
      retried([&] { return ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
  if (file.get() < 0) return failure("open folder", folder, errno);
  // EINVAL: a file system without this; its names are as safe as it makes them.
  if (retried([&] { return ::fsync(file.get()); }) != 0 && errno != EINVAL) {
    return failure("sync folder", folder, errno);
  }
  return {};
}

Result<std::unique_ptr<FileLock>> PosixDisk::lock(const std::string& path) {
  auto file = open_regular(path, O_RDWR | O_CREAT, "lock");
  if (!file) return file.error();
  if (retried([&] { return ::flock(file->get(), LOCK_EX | LOCK_NB); }) != 0) {
    if (errno != EWOULDBLOCK) return failure("lock", path, errno);
    return Error{ErrorKind::kConflict,
                 fmt::format("{} is held by {}; wait until it ends, or stop it", path,
                             holder_of(file->get()))};
  }
  // For people only: the lock holds without it, for instance on a full disk.
  const std::string text = fmt::format("{}\n", ::getpid());
  if (::ftruncate(file->get(), 0) == 0) (void)write_all(file->get(), text, path);
  return std::make_unique<PosixLock>(*std::move(file));
}

Result<std::unique_ptr<FileLock>> PosixDisk::lock_file(const std::string& path) {
  // To write: some file systems of a network lock nothing else.
  auto file = open_regular(path, O_RDWR, "lock");
  if (!file) return file.error();
  if (retried([&] { return ::flock(file->get(), LOCK_EX | LOCK_NB); }) != 0) {
    if (errno != EWOULDBLOCK) return failure("lock", path, errno);
    return Error{ErrorKind::kConflict,
                 fmt::format("{} is held by another process, under this or another name that it "
                             "has; wait until that ends, or stop it",
                             path)};
  }
  return std::make_unique<PosixContentLock>(*std::move(file));
}

Result<std::optional<std::string>> PosixDisk::lock_holder(const std::string& path) const {
  const auto file = open_regular(path, O_RDONLY, "read");
  if (!file) {
    if (file.error().kind == ErrorKind::kNotFound) return std::optional<std::string>();
    return file.error();
  }
  // A lock that is shared by all who look stays away from one that is held, and ends with the
  // descriptor.
  if (retried([&] { return ::flock(file->get(), LOCK_SH | LOCK_NB); }) == 0) {
    return std::optional<std::string>();
  }
  if (errno != EWOULDBLOCK) return failure("look at the lock", path, errno);
  return std::optional(holder_of(file->get()));
}

}  // namespace windrow::store
