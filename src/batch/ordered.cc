#include "batch/ordered.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

namespace windrow::batch {
namespace {

constexpr size_t kOrderedWriteBytes = size_t{1} << 20;
constexpr size_t kOrderedReadBytes = size_t{1} << 16;

// No line of a log is shorter.
constexpr uint64_t kLineBytesMin = 128;

// 16 bytes for every line of the log.
struct Entry {
  uint64_t input_line;
  uint64_t offset;

  friend auto operator<=>(const Entry&, const Entry&) = default;
};
static_assert(sizeof(Entry) == 16);

// Gives out lines by their offsets; neighbours are read together.
class LineAt {
 public:
  explicit LineAt(store::ReadFile& file) : file_(file) {}

  // The line that begins there, with its line end. Valid until the next call.
  Result<std::string_view> line(uint64_t offset) {
    if (offset < begin_ || offset >= begin_ + bytes_.size()) {
      begin_ = offset;
      bytes_.clear();
    }
    size_t searched = offset - begin_;
    for (;;) {
      const size_t end = std::string_view(bytes_).find('\n', searched);
      if (end != std::string_view::npos) {
        return std::string_view(bytes_).substr(offset - begin_, end + 1 - (offset - begin_));
      }
      // Bytes before the line are not needed any more.
      bytes_.erase(0, offset - begin_);
      begin_ = offset;
      searched = bytes_.size();
      bytes_.resize(searched + kOrderedReadBytes);
      const auto got =
          file_.read_at(begin_ + searched, bytes_.data() + searched, kOrderedReadBytes);
      if (!got) return got.error();
      bytes_.resize(searched + *got);
      if (*got == 0) {
        return Error{ErrorKind::kIo, "the log became shorter while it was put in order"};
      }
    }
  }

 private:
  store::ReadFile& file_;
  uint64_t begin_ = 0;  // in the file, of the first of bytes_
  std::string bytes_;
};

Result<bool> write_sorted(store::Disk& disk, store::ReadFile& log,
                          const std::vector<Entry>& entries, const std::string& temporary,
                          const std::function<bool()>& interrupted) {
  auto file = disk.open_append(temporary);
  if (!file) return file.error();
  if (auto done = (*file)->truncate(0); !done) return done.error();
  LineAt lines(log);
  std::string block;
  for (const Entry& entry : entries) {
    const auto line = lines.line(entry.offset);
    if (!line) return line.error();
    block += *line;
    if (block.size() < kOrderedWriteBytes) continue;
    if (interrupted()) return false;
    if (auto done = (*file)->append(block); !done) return done.error();
    block.clear();
  }
  if (auto done = (*file)->append(block); !done) return done.error();
  if (auto done = (*file)->sync(); !done) return done.error();
  return true;
}

}  // namespace

std::string ordered_temporary(const std::string& path) {
  return path + ".ordered.tmp";
}

Result<bool> order_log(store::Disk& disk, const std::string& path, LogKind kind,
                       const std::function<bool()>& interrupted) {
  auto log = disk.open_read(path);
  if (!log) return log.error();
  const auto bytes = (*log)->size();
  if (!bytes) return bytes.error();
  // More than are needed, so that they never move: memory without writes is not allocated.
  std::vector<Entry> entries;
  entries.reserve(*bytes / kLineBytesMin);
  const auto scan = scan_log(**log, path, kind, [&](const LogLine& line) -> Result<void> {
    entries.push_back({.input_line = line.input_line, .offset = line.offset});
    return {};
  });
  if (!scan) return scan.error();
  if (std::is_sorted(entries.begin(), entries.end())) return true;
  std::sort(entries.begin(), entries.end());

  const std::string temporary = ordered_temporary(path);
  auto written = write_sorted(disk, **log, entries, temporary, interrupted);
  if (written && *written) {
    if (auto done = disk.rename(temporary, path); !done) {
      written = done.error();
    } else if (done = disk.sync_folder_of(path); !done) {
      return done.error();  // the new log has the name already; the next run syncs it
    }
  }
  if (!written || !*written) (void)disk.remove(temporary);
  return written;
}

}  // namespace windrow::batch
