#include "batch/input.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <mutex>
#include <system_error>
#include <utility>

#include "base/format.h"

namespace windrow::batch {
namespace {

std::string system_says(int error) {
  return std::generic_category().message(error);
}

// Waits on the file and on an event at once, so that interrupt() reaches a read that waits for a
// pipe. A regular file is always ready.
class DescriptorSource final : public ByteSource {
 public:
  // `size`: the size of a regular file when it was opened.
  DescriptorSource(int fd, int event, bool owned, std::optional<uint64_t> size,
                   BeforeWait before_wait)
      : fd_(fd),
        event_(event),
        owned_(owned),
        size_(size.value_or(0)),
        before_wait_(std::move(before_wait)) {}

  DescriptorSource(const DescriptorSource&) = delete;
  DescriptorSource& operator=(const DescriptorSource&) = delete;

  ~DescriptorSource() override {
    if (owned_) ::close(fd_);
    ::close(event_);
  }

  Result<size_t> read(char* buffer, size_t size) override {
    for (;;) {
      std::array<pollfd, 2> waits = {pollfd{.fd = fd_, .events = POLLIN, .revents = 0},
                                     pollfd{.fd = event_, .events = POLLIN, .revents = 0}};
      int ready = before_wait_ ? ::poll(waits.data(), waits.size(), 0) : 0;
      if (ready == 0) {
        if (before_wait_) before_wait_();
        ready = ::poll(waits.data(), waits.size(), -1);
      }
      if (ready < 0) {
        if (errno == EINTR) continue;
        return failure(errno);
      }
      if (waits[1].revents != 0) return size_t{0};
      const ssize_t got = ::read(fd_, buffer, size);
      if (got == 0 && bytes_read_ < size_) return cut_off();
      if (got >= 0) {
        bytes_read_ += static_cast<uint64_t>(got);
        return static_cast<size_t>(got);
      }
      if (errno != EINTR && errno != EAGAIN) return failure(errno);
    }
  }

  void interrupt() override {
    const uint64_t one = 1;
    // Fails only when the event is set already.
    if (::write(event_, &one, sizeof one) < 0) return;
  }

 private:
  Error failure(int error) const {
    return Error{ErrorKind::kIo, fmt::format("it cannot be read: {}", system_says(error))};
  }

  Error cut_off() const {
    return Error{ErrorKind::kIo,
                 fmt::format("the file became shorter while it was read: it had {} bytes when the "
                             "run began and ends after {}; restore it, then run the same command "
                             "again",
                             with_thousands(static_cast<int64_t>(size_)),
                             with_thousands(static_cast<int64_t>(bytes_read_)))};
  }

  const int fd_;
  const int event_;
  const bool owned_;
  const uint64_t size_;
  uint64_t bytes_read_ = 0;
  const BeforeWait before_wait_;
};

class DescriptorInput final : public Input {
 public:
  // `path` "-" is standard input.
  DescriptorInput(std::string path, bool regular, std::optional<uint64_t> size)
      : path_(std::move(path)),
        name_(path_ == "-" ? "standard input" : path_),
        regular_(regular),
        size_(size) {}

  Result<std::unique_ptr<ByteSource>> open(BeforeWait before_wait) override {
    if (!regular_) {
      const std::scoped_lock lock(mutex_);
      if (std::exchange(opened_, true)) {
        return Error{ErrorKind::kConflict, fmt::format("{} can be read only once", name_)};
      }
    }
    const bool standard_input = path_ == "-";
    // Not blocking: read() waits for the writer of a named pipe, not this.
    const int fd =
        standard_input ? STDIN_FILENO : ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
      return Error{errno == ENOENT ? ErrorKind::kNotFound : ErrorKind::kIo,
                   fmt::format("cannot open {}: {}", name_, system_says(errno))};
    }
    const int event = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (event < 0) {
      const int error = errno;
      if (!standard_input) ::close(fd);
      return Error{ErrorKind::kIo, fmt::format("cannot read {}: {}", name_, system_says(error))};
    }
    return std::make_unique<DescriptorSource>(fd, event, !standard_input, size_,
                                              std::move(before_wait));
  }

  bool rereadable() const override { return regular_; }
  std::optional<uint64_t> size() const override { return size_; }
  const std::string& name() const override { return name_; }

 private:
  const std::string path_;
  const std::string name_;
  const bool regular_;
  const std::optional<uint64_t> size_;
  std::mutex mutex_;
  bool opened_ = false;
};

}  // namespace

Result<std::unique_ptr<Input>> open_input(const std::string& path) {
  if (path == "-") {
    // The parent process closed it; the descriptor may belong to another file now.
    const int flags = ::fcntl(STDIN_FILENO, F_GETFL);
    if (flags < 0 || (flags & O_ACCMODE) == O_WRONLY) {
      return Error{ErrorKind::kInvalid,
                   "standard input is closed, so no rows can come from it; give the input as a "
                   "file, or through a pipe"};
    }
    return std::make_unique<DescriptorInput>(path, false, std::nullopt);
  }
  struct stat status = {};
  if (::stat(path.c_str(), &status) != 0) {
    return Error{errno == ENOENT || errno == ENOTDIR ? ErrorKind::kNotFound : ErrorKind::kIo,
                 fmt::format("cannot read the input {}: {}", path, system_says(errno))};
  }
  if (S_ISDIR(status.st_mode)) {
    return Error{ErrorKind::kInvalid,
                 fmt::format("the input {} is a folder; give a file of requests", path)};
  }
  if (::access(path.c_str(), R_OK) != 0) {
    return Error{ErrorKind::kIo,
                 fmt::format("cannot read the input {}: {}", path, system_says(errno))};
  }
  if (!S_ISREG(status.st_mode)) {
    return std::make_unique<DescriptorInput>(path, false, std::nullopt);
  }
  return std::make_unique<DescriptorInput>(path, true, static_cast<uint64_t>(status.st_size));
}

}  // namespace windrow::batch
