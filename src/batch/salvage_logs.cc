#include "batch/salvage_logs.h"

#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "batch/job_paths.h"
#include "batch/job_record.h"
#include "batch/line_source.h"
#include "batch/log_lines.h"
#include "batch/put_aside.h"
#include "batch/sound_lines.h"

namespace windrow::batch {
namespace {

constexpr size_t kSalvageBlockBytes = size_t{1} << 20;

Result<std::unique_ptr<store::AppendFile>> begin_file(store::Disk& disk, const std::string& path) {
  auto file = disk.open_append(path);
  if (!file) return file.error();
  if (auto done = (*file)->truncate(0); !done) return done.error();
  return file;
}

Result<void> copy(store::Disk& disk, const std::string& from, const std::string& to) {
  const auto source = disk.open_read(from);
  if (!source) return source.error();
  const auto file = begin_file(disk, to);
  if (!file) return file.error();
  std::string block(kSalvageBlockBytes, '\0');
  for (uint64_t at = 0;;) {
    const auto got = (*source)->read_at(at, block.data(), block.size());
    if (!got) return got.error();
    if (*got == 0) return (*file)->sync();
    if (auto done = (*file)->append(std::string_view(block).substr(0, *got)); !done) return done;
    at += *got;
  }
}

Result<void> copy_all(store::Disk& disk, const std::vector<Move>& copies) {
  for (const Move& one : copies) {
    if (auto done = copy(disk, one.from, one.to); !done) return done;
    if (auto done = disk.sync_folder_of(one.to); !done) return done;
  }
  return {};
}

Result<void> add_salvage_input(Input& input, SoundLines& sound) {
  const auto lines = open_lines(input);
  if (!lines) return lines.error();
  for (;;) {
    const auto line = (*lines)->next();
    if (!line) return line.error();
    if (!*line) return {};
    sound.add_input(**line);
  }
}

// The sound lines of one log, under the name it will have before the log's own. False: there is no
// log.
Result<bool> write_sound(store::Disk& disk, const std::string& path, LogKind kind,
                         SoundLines& sound, Salvage& salvage) {
  const auto log = disk.open_read(path);
  if (!log && log.error().kind == ErrorKind::kNotFound) return false;
  if (!log) return log.error();
  const auto file = begin_file(disk, salvaged_temporary(path));
  if (!file) return file.error();
  const auto lose = [&](uint64_t number, std::string_view why) {
    if (salvage.lost++ > 0) return;
    salvage.why = fmt::format("{}: line {}: {}", std::filesystem::path(path).filename().string(),
                              number, why);
  };
  LogLines lines(**log);
  std::string block;
  for (uint64_t number = 1;; ++number) {
    const auto line = lines.next();
    if (!line) return line.error();
    if (!*line) {
      if (!lines.torn().empty()) lose(number, "it is cut off");
      break;
    }
    if (const auto why = sound.judge(kind, **line)) {
      lose(number, *why);
      continue;
    }
    ++salvage.kept;
    block += **line;
    block += '\n';
    if (block.size() < kSalvageBlockBytes) continue;
    if (auto done = (*file)->append(block); !done) return done.error();
    block.clear();
  }
  if (auto done = (*file)->append(block); !done) return done.error();
  if (auto done = (*file)->sync(); !done) return done.error();
  return true;
}

// `logs`: those there are.
Result<void> write_sound_logs(store::Disk& disk, const JobPaths& paths, Input& input,
                              Salvage& salvage, std::vector<std::string>& logs) {
  // It has a buffer in it.
  const auto sound = std::make_unique<SoundLines>();
  if (auto done = add_salvage_input(input, *sound); !done) return done;
  for (const auto& [path, kind] :
       {std::pair(paths.results, LogKind::kResults), std::pair(paths.errors, LogKind::kErrors)}) {
    const Result<bool> written = write_sound(disk, path, kind, *sound, salvage);
    if (!written) return written.error();
    if (*written) logs.push_back(path);
  }
  return {};
}

// The day that the job began, where the record still tells it.
std::optional<int64_t> began(store::Disk& disk, const std::string& path) {
  const auto text = disk.read_all(path);
  if (!text) return std::nullopt;
  const auto record = parse_job_record(*text, path);
  return record ? record->began_unix_s : std::nullopt;
}

}  // namespace

std::string salvaged_temporary(const std::string& path) {
  return path + ".salvaged.tmp";
}

Result<Salvage> salvage_logs(const JobOptions& options, store::Disk& disk, Input& input) {
  const Result<JobPaths> paths = job_paths(options.output_path);
  if (!paths) return paths.error();
  const auto lock = disk.lock(paths->lock);
  if (!lock) return lock.error();

  Salvage salvage;
  std::vector<std::string> logs;
  const std::vector<Move> copies = plan_job_aside(disk, *paths);
  const JobRecord record{
      .input = options.input_name,
      .results = results_name(options),
      .settings = settings_of(options),
      .began_unix_s = began(disk, paths->record).value_or(options.now_unix_s),
  };
  Result<void> done = write_sound_logs(disk, *paths, input, salvage, logs);
  if (done) done = copy_all(disk, copies);
  if (done) done = disk.write_atomically(paths->record, job_record_text(record));
  if (!done) {
    // It may be tried again and again.
    for (const std::string* path : {&paths->results, &paths->errors})
      (void)disk.remove(salvaged_temporary(*path));
    for (const Move& one : copies)
      (void)disk.remove(one.to);
    return done.error();
  }

  for (const std::string& path : logs) {
    if (done) done = disk.rename(salvaged_temporary(path), path);
    if (done) done = disk.sync_folder_of(path);
  }
  if (!done) return done.error();
  for (const Move& one : copies)
    salvage.aside.push_back(one.to);
  return salvage;
}

}  // namespace windrow::batch
