#include "app/process/line_log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "base/format.h"

namespace windrow::app {
namespace {

constexpr int kLogForItsOwner = 0600;

// A pipe that poll() calls writable takes so much without blocking.
constexpr size_t kPieceBytes = 4096;

// How often a file that takes nothing is asked, and how often at the end.
constexpr int kAskAgainMs = 100;
constexpr int kAskedAtTheEnd = 5;

std::string error_text(int error) {
  return std::generic_category().message(error);
}

Result<int> open_file(const std::string& path) {
  if (path == "-") return STDOUT_FILENO;
  const int descriptor =
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, kLogForItsOwner);
  if (descriptor >= 0) return descriptor;
  return Error{ErrorKind::kIo,
               fmt::format("--log {}: it cannot be opened: {}", path, error_text(errno))};
}

// Whether the file ends in the middle of a line, as a crash or a full disk leaves it. False for
// anything but a regular file that can be read.
bool ends_within_line(const std::string& path) {
  struct stat status{};
  if (path == "-" || ::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return false;
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return false;
  const off_t end = ::lseek(descriptor, 0, SEEK_END);
  char last = '\n';
  const bool is_read = end > 0 && ::pread(descriptor, &last, 1, end - 1) == 1;
  ::close(descriptor);
  return is_read && last != '\n';
}

void close_file(int descriptor) {
  if (descriptor >= 0 && descriptor != STDOUT_FILENO) ::close(descriptor);
}

}  // namespace

Result<std::unique_ptr<LineLog>> LineLog::open(const std::string& path,
                                               std::function<void(const std::string&)> warn) {
  const Result<int> descriptor = open_file(path);
  if (!descriptor) return descriptor.error();
  return std::unique_ptr<LineLog>(new LineLog(path, *descriptor, std::move(warn)));
}

LineLog::LineLog(std::string path, int descriptor, std::function<void(const std::string&)> warn)
    : path_(std::move(path)),
      warn_(std::move(warn)),
      descriptor_(descriptor),
      torn_(ends_within_line(path_)),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

LineLog::~LineLog() {
  thread_.request_stop();
  thread_.join();
  close_file(descriptor_);
  close_file(next_descriptor_);
}

void LineLog::write(std::string line) {
  line += '\n';
  const std::scoped_lock lock(mutex_);
  if (waiting_bytes_ + line.size() > kWaitingBytesMax) {
    ++no_room_;
    return;
  }
  waiting_bytes_ += line.size();
  waiting_.push_back(std::move(line));
  filled_.notify_all();
}

Result<void> LineLog::reopen() {
  const Result<int> descriptor = open_file(path_);
  if (!descriptor) return descriptor.error();
  const std::scoped_lock lock(mutex_);
  close_file(next_descriptor_);
  next_descriptor_ = *descriptor;
  lines_before_next_ = waiting_.size();
  filled_.notify_all();
  return {};
}

void LineLog::run(const std::stop_token& stop) {
  while (true) {
    std::string line;
    int64_t no_room = 0;
    {
      std::unique_lock lock(mutex_);
      filled_.wait(lock, stop, [this] {
        return !waiting_.empty() || (next_descriptor_ >= 0 && lines_before_next_ == 0);
      });
      if (next_descriptor_ >= 0 && lines_before_next_ == 0) {
        close_file(descriptor_);
        descriptor_ = std::exchange(next_descriptor_, -1);
        torn_ = ends_within_line(path_);
      }
      if (waiting_.empty() && stop.stop_requested()) return;
      if (waiting_.empty()) continue;
      line = std::move(waiting_.front());
      waiting_.pop_front();
      waiting_bytes_ -= line.size();
      if (lines_before_next_ > 0) --lines_before_next_;
      no_room = std::exchange(no_room_, 0);
    }
    if (no_room > 0) dropped(no_room, "its reader is too slow");
    errno = 0;
    if (put(line, stop)) {
      if (dropped_ > 0 && no_room == 0) {
        warn_(fmt::format("--log {}: it is written again; {} lines were dropped", path_,
                          with_thousands(dropped_)));
        dropped_ = 0;
      }
    } else if (!stop.stop_requested()) {
      dropped(1, error_text(errno));
    } else {
      return;  // the reader is gone
    }
  }
}

void LineLog::dropped(int64_t lines, const std::string& why) {
  if (dropped_ == 0)
    warn_(fmt::format("--log {}: {}; lines are dropped until that is over", path_, why));
  dropped_ += lines;
}

// A line that got there in part is ended, so that the next one is whole.
bool LineLog::put(std::string_view line, const std::stop_token& stop) {
  const std::string whole = fmt::format("{}{}", torn_ ? "\n" : "", line);
  std::string_view rest = whole;
  while (!rest.empty()) {
    if (!wait_until_writable(stop)) break;
    const ssize_t written = ::write(descriptor_, rest.data(), std::min(rest.size(), kPieceBytes));
    if (written < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (written <= 0) break;
    rest.remove_prefix(static_cast<size_t>(written));
  }
  if (rest.empty()) {
    torn_ = false;
  } else if (rest.size() < whole.size()) {
    torn_ = true;
  }
  return rest.empty();
}

bool LineLog::wait_until_writable(const std::stop_token& stop) const {
  for (int asked = 0; asked < kAskedAtTheEnd;) {
    pollfd ready{descriptor_, POLLOUT, 0};
    if (poll(&ready, 1, kAskAgainMs) > 0) return true;
    if (stop.stop_requested()) ++asked;
  }
  return false;
}

}  // namespace windrow::app
