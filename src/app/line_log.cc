#include "app/line_log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <system_error>

namespace windrow::app {
namespace {

constexpr int kForItsOwner = 0600;

Result<int> open_file(const std::string& path) {
  if (path == "-") return STDOUT_FILENO;
  const int descriptor =
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, kForItsOwner);
  if (descriptor >= 0) return descriptor;
  return Error{ErrorKind::kIo, fmt::format("--log {}: it cannot be opened: {}", path,
                                           std::generic_category().message(errno))};
}

void close_file(int descriptor) {
  if (descriptor != STDOUT_FILENO) ::close(descriptor);
}

}  // namespace

Result<std::unique_ptr<LineLog>> LineLog::open(const std::string& path) {
  const Result<int> descriptor = open_file(path);
  if (!descriptor) return descriptor.error();
  return std::unique_ptr<LineLog>(new LineLog(path, *descriptor));
}

LineLog::~LineLog() {
  close_file(descriptor_);
}

void LineLog::write(std::string line) {
  line += '\n';
  const std::scoped_lock lock(mutex_);
  std::string_view rest = line;
  while (!rest.empty()) {
    const ssize_t written = ::write(descriptor_, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    rest.remove_prefix(static_cast<size_t>(written));
  }
}

Result<void> LineLog::reopen() {
  const Result<int> descriptor = open_file(path_);
  if (!descriptor) return descriptor.error();
  const std::scoped_lock lock(mutex_);
  close_file(descriptor_);
  descriptor_ = *descriptor;
  return {};
}

}  // namespace windrow::app
