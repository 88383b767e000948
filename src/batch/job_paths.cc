#include "batch/job_paths.h"

#include <fmt/format.h>
#include <system_error>

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>

namespace windrow::batch {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kErrors = ".errors.jsonl";
constexpr std::string_view kSummary = ".summary.json";
constexpr std::string_view kRecord = ".job.json";
constexpr std::string_view kQuarantine = ".quarantine.jsonl";
constexpr std::string_view kLock = ".lock";
constexpr std::string_view kProgress = ".progress.json";

constexpr std::array<std::string_view, 3> kEndings = {".jsonl", ".ndjson", ".json"};

// "out/results.jsonl" -> 11: where the ending begins that is known to be one.
size_t stem_size(std::string_view path) {
  for (const std::string_view ending : kEndings) {
    if (path.ends_with(ending) && path.size() > ending.size() &&
        path[path.size() - ending.size() - 1] != '/') {
      return path.size() - ending.size();
    }
  }
  return path.size();
}

JobPaths with_stem(std::string_view stem, std::string_view ending) {
  return JobPaths{.results = fmt::format("{}{}", stem, ending),
                  .errors = fmt::format("{}{}", stem, kErrors),
                  .summary = fmt::format("{}{}", stem, kSummary),
                  .record = fmt::format("{}{}", stem, kRecord),
                  .quarantine = fmt::format("{}{}", stem, kQuarantine),
                  .lock = fmt::format("{}{}", stem, kLock),
                  .progress = fmt::format("{}{}", stem, kProgress)};
}

std::string_view stem_of(const JobPaths& paths) {
  return std::string_view(paths.lock).substr(0, paths.lock.size() - kLock.size());
}

}  // namespace

JobPaths JobPaths::old(int32_t n) const {
  const std::string_view stem = stem_of(*this);
  return with_stem(fmt::format("{}.old-{}", stem, n),
                   std::string_view(results).substr(stem_size(results)));
}

std::string JobPaths::results_named(std::string_view name) const {
  return fmt::format("{}{}", stem_of(*this), name.substr(stem_size(name)));
}

std::vector<std::string> JobPaths::other_results() const {
  std::vector<std::string> others = {std::string(stem_of(*this))};
  for (const std::string_view ending : kEndings)
    others.push_back(fmt::format("{}{}", stem_of(*this), ending));
  std::erase(others, results);
  return others;
}

Result<JobPaths> job_paths(const std::string& output_path) {
  if (output_path.empty() || output_path == "-") {
    return Error{ErrorKind::kInvalid,
                 "the output must be a file, as a job continues from what it finds there; name one "
                 "with -o results.jsonl"};
  }
  if (output_path.ends_with('/')) {
    return Error{ErrorKind::kInvalid,
                 fmt::format("the output {} is a folder; name a file in it", output_path)};
  }
  if (output_path.ends_with(".gz") || output_path.ends_with(".zst")) {
    return Error{ErrorKind::kInvalid,
                 fmt::format("the output {} cannot be compressed while it is written; name it "
                             "without the ending and compress it when the job is done",
                             output_path)};
  }
  JobPaths paths = with_stem(std::string_view(output_path).substr(0, stem_size(output_path)),
                             std::string_view(output_path).substr(stem_size(output_path)));
  if (paths.results == paths.errors || paths.results == paths.summary ||
      paths.results == paths.record || paths.results == paths.quarantine ||
      paths.results == paths.progress) {
    return Error{ErrorKind::kInvalid,
                 fmt::format("the output {} has the name of another file of the job", output_path)};
  }
  return paths;
}

namespace {

std::string_view kind_of(fs::file_type type) {
  switch (type) {
    case fs::file_type::block:
    case fs::file_type::character:
      return "a device";
    case fs::file_type::fifo:
      return "a pipe";
    case fs::file_type::socket:
      return "a socket";
    default:
      return "no ordinary file";
  }
}

}  // namespace

Result<void> check_output_file(std::string_view what, const std::string& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  // A file without access fails when it is opened, with the reason.
  if (!fs::status_known(status) || !fs::exists(status) || fs::is_regular_file(status)) return {};
  if (fs::is_directory(status)) {
    return Error{ErrorKind::kInvalid,
                 fmt::format("{} {} is a folder; name a file in it", what, path)};
  }
  return Error{
      ErrorKind::kInvalid,
      fmt::format("{} {} is {}, which keeps nothing; name a file, and delete it when it is "
                  "not wanted",
                  what, path, kind_of(status.type()))};
}

namespace {

bool any_exists(const store::Disk& disk, const JobPaths& paths) {
  return disk.exists(paths.results) || disk.exists(paths.errors) || disk.exists(paths.summary) ||
         disk.exists(paths.record) || disk.exists(paths.quarantine);
}

}  // namespace

std::vector<Move> plan_fresh_moves(const store::Disk& disk, const JobPaths& paths) {
  int32_t n = 1;
  while (any_exists(disk, paths.old(n)))
    ++n;
  const JobPaths old = paths.old(n);
  std::vector<Move> moves;
  const auto add = [&](const std::string& from, const std::string& to) {
    if (disk.exists(from)) moves.push_back({from, to});
  };
  add(paths.record, old.record);
  add(paths.summary, old.summary);
  add(paths.results, old.results);
  add(paths.errors, old.errors);
  add(paths.quarantine, old.quarantine);
  return moves;
}

Result<void> move_all(store::Disk& disk, const std::vector<Move>& moves) {
  for (const Move& move : moves) {
    if (auto done = disk.rename(move.from, move.to); !done) return done;
    if (auto done = disk.sync_folder_of(move.to); !done) return done;
  }
  return {};
}

namespace {

constexpr std::string_view kErrorsSuffix = ".errors.jsonl";

Result<JobPaths> job_of_errors(const store::Disk& disk, const std::string& path) {
  constexpr std::array<std::string_view, 4> kSearchedEndings = {".jsonl", ".ndjson", ".json", ""};
  const std::string stem = path.substr(0, path.size() - kErrorsSuffix.size());
  std::optional<JobPaths> found;
  for (const std::string_view ending : kSearchedEndings) {
    auto paths = job_paths(stem + std::string(ending));
    if (!paths || paths->errors != path || !disk.exists(paths->results)) continue;
    if (found) {
      return Error{ErrorKind::kInvalid,
                   fmt::format("{} belongs to {} or to {}; name the results instead", path,
                               found->results, paths->results)};
    }
    found = *std::move(paths);
  }
  if (found) return *std::move(found);
  // Where no row succeeded there need not be results.
  return job_paths(stem + std::string(kSearchedEndings.front()));
}

}  // namespace

Result<JobPaths> find_job(const store::Disk& disk, const std::string& path) {
  const bool errors = path.ends_with(kErrorsSuffix) && path.size() > kErrorsSuffix.size();
  auto paths = errors ? job_of_errors(disk, path) : job_paths(path);
  if (!paths) return paths;
  if (disk.exists(paths->errors) || disk.exists(paths->record)) return paths;
  if (disk.exists(paths->results)) {
    return Error{
        ErrorKind::kNotFound,
        fmt::format("{} is not the output of a job: neither {} nor {} exists; name the file "
                    "that was given to `windrow run` with -o",
                    path, paths->record, paths->errors)};
  }
  return Error{ErrorKind::kNotFound,
               fmt::format("there is no job of this name: neither {} nor {} exists; name the file "
                           "that was given to `windrow run` with -o",
                           paths->results, paths->errors)};
}

}  // namespace windrow::batch
