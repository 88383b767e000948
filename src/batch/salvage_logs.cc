#include "batch/salvage_logs.h"

#include <fmt/format.h>

#include <boost/json/object.hpp>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "batch/job_paths.h"
#include "batch/job_record.h"
#include "batch/line_source.h"
#include "batch/log_scan.h"
#include "batch/result_line.h"
#include "batch/row.h"

namespace windrow::batch {

namespace json = boost::json;

namespace {

constexpr int64_t kAnswered = 200;

// The 32 bits of a row: never 0, whether it has a line, and of its fingerprint what fits.
constexpr uint32_t kIsThere = 1;
constexpr uint32_t kHasLine = 2;
constexpr int kSoundFingerprintShift = 2;

uint32_t sound_entry(uint64_t fingerprint) {
  return kIsThere | (static_cast<uint32_t>(fingerprint) << kSoundFingerprintShift);
}

// Whether a result line has an answer; read_log_line has checked everything else.
bool has_answer(const json::object& line) {
  const json::object* response = line.at("response").if_object();
  if (response == nullptr) return false;
  const json::value* status = response->if_contains("status_code");
  const json::value* body = response->if_contains("body");
  return status != nullptr && status->is_int64() && status->get_int64() == kAnswered &&
         body != nullptr && body->is_object();
}

// It stands in the line, and follows from the rest of it.
bool has_its_id(const json::object& line, const LogLine& read) {
  const json::value* id = line.if_contains("id");
  const RowKey key{.identity = read.identity, .fingerprint = read.fingerprint};
  return id != nullptr && id->is_string() && id->get_string() == "batch_req_" + row_id(key);
}

}  // namespace

bool SoundLines::add(const RowKey& key) {
  return rows_.find_or_add(key.identity, sound_entry(key.fingerprint)).second;
}

void SoundLines::add_input(const Line& line) {
  const auto opened = reader_.open(line);
  if (const auto* fault = std::get_if<RowFault>(&opened)) {
    add(fault->key);
    return;
  }
  const RowKey& key = std::get<Envelope>(opened).key;
  // A second row of the same custom_id is reported as a line.
  if (!add(key)) add(duplicate_fault(key, line).key);
}

std::optional<std::string_view> SoundLines::judge(LogKind kind, std::string_view text) {
  const json::value* const value = parsed_.parse(text);
  if (value == nullptr) return "it is not JSON";
  return judge(kind, *value);
}

std::optional<std::string_view> SoundLines::judge(LogKind kind, const json::value& value) {
  LogLine line;
  if (const auto why = read_log_line(value, kind, line)) return why;
  const json::object& object = value.get_object();
  if (kind == LogKind::kResults && !has_answer(object)) return "it has no answer";
  if (!has_its_id(object, line)) return "its id is that of another line";
  const std::optional<RowTable::Slot> slot = rows_.find(line.identity);
  if (!slot) return "the input has no such row";
  const uint32_t entry = rows_.value(*slot);
  if ((entry & ~kHasLine) != sound_entry(line.fingerprint))
    return "its row asks something else now";
  if ((entry & kHasLine) != 0) return "its row has a line already";
  rows_.set(*slot, entry | kHasLine);
  return std::nullopt;
}

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

// `logs`: the existing ones.
Result<void> write_sound_logs(store::Disk& disk, const JobPaths& paths, RowForm form, Input& input,
                              Salvage& salvage, std::vector<std::string>& logs) {
  // It has a buffer in it.
  const auto sound = std::make_unique<SoundLines>(form);
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
  const std::vector<Move> copies = plan_fresh_moves(disk, *paths);
  const JobRecord record{
      .input = options.input_name,
      .results = results_name(options),
      .settings = settings_of(options),
      .began_unix_s = began(disk, paths->record).value_or(options.now_unix_s),
  };
  Result<void> done = write_sound_logs(disk, *paths, options.form, input, salvage, logs);
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
