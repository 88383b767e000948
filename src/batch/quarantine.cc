#include "batch/quarantine.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

namespace windrow::batch {
namespace {

constexpr uint64_t kQuarantineBlockBytes = uint64_t{1} << 20;

// Bytes [begin, end) of one file, to the end of another.
Result<void> copy_part(store::ReadFile& from, uint64_t begin, uint64_t end, store::AppendFile& to) {
  std::string block;
  for (uint64_t at = begin; at < end;) {
    block.resize(std::min(kQuarantineBlockBytes, end - at));
    const auto got = from.read_at(at, block.data(), block.size());
    if (!got) return got.error();
    if (*got == 0) return Error{ErrorKind::kIo, "a log became shorter while it was copied"};
    if (auto done = to.append(std::string_view(block).substr(0, *got)); !done) return done;
    at += *got;
  }
  return {};
}

// Ends a line that an earlier process left incomplete, so that lines stay lines.
Result<void> end_last_line(store::Disk& disk, const std::string& path, store::AppendFile& file) {
  const auto size = file.size();
  if (!size) return size.error();
  if (*size == 0) return {};
  const auto read = disk.open_read(path);
  if (!read) return read.error();
  char last = '\n';
  const auto got = (*read)->read_at(*size - 1, &last, 1);
  if (!got) return got.error();
  return last == '\n' ? Result<void>() : file.append("\n");
}

}  // namespace

std::string quarantined_temporary(const std::string& path) {
  return path + ".quarantined.tmp";
}

void Quarantine::add(const std::string& path, LogKind kind, const LogLine& line,
                     std::string_view why) {
  if (first_.empty()) {
    first_ =
        fmt::format("{}: line {} (custom_id \"{}\"): {}", path, line.number, line.custom_id, why);
  }
  (kind == LogKind::kResults ? results_ : errors_)
      .push_back({.offset = line.offset, .size = line.size});
}

Result<uint64_t> Quarantine::take_out(LogKind kind, store::Disk& disk, const JobPaths& paths,
                                      uint64_t whole_bytes) const {
  const std::string& path = kind == LogKind::kResults ? paths.results : paths.errors;
  const auto log = disk.open_read(path);
  if (!log) return log.error();

  const auto kept_lines = disk.open_append(paths.quarantine);
  if (!kept_lines) return kept_lines.error();
  Result<void> done = end_last_line(disk, paths.quarantine, **kept_lines);
  for (const Extent& extent : of(kind)) {
    if (done) done = copy_part(**log, extent.offset, extent.offset + extent.size, **kept_lines);
  }
  if (done) done = (*kept_lines)->sync();
  if (done) done = disk.sync_folder_of(paths.quarantine);
  if (!done) return done.error();

  const std::string temporary = quarantined_temporary(path);
  const Result<uint64_t> left = [&]() -> Result<uint64_t> {
    const auto file = disk.open_append(temporary);
    if (!file) return file.error();
    Result<void> copied = (*file)->truncate(0);
    uint64_t at = 0;
    for (const Extent& extent : of(kind)) {
      if (copied) copied = copy_part(**log, at, extent.offset, **file);
      at = extent.offset + extent.size;
    }
    if (copied) copied = copy_part(**log, at, whole_bytes, **file);
    if (copied) copied = (*file)->sync();
    if (!copied) return copied.error();
    return (*file)->size();
  }();
  if (left) done = disk.rename(temporary, path);
  if (!left || !done) {
    (void)disk.remove(temporary);
    return left ? done.error() : left.error();
  }
  // Once the new log has the name, the next run syncs that.
  if (done = disk.sync_folder_of(path); !done) return done.error();
  return *left;
}

}  // namespace windrow::batch
