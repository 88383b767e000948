#include "report/find_job.h"

#include <fmt/format.h>

#include <array>
#include <optional>
#include <string_view>

namespace windrow::report {
namespace {

constexpr std::string_view kErrorsSuffix = ".errors.jsonl";

Result<batch::JobPaths> job_of_errors(const store::Disk& disk, const std::string& path) {
  constexpr std::array<std::string_view, 4> kEndings = {".jsonl", ".ndjson", ".json", ""};
  const std::string stem = path.substr(0, path.size() - kErrorsSuffix.size());
  std::optional<batch::JobPaths> found;
  for (const std::string_view ending : kEndings) {
    auto paths = batch::job_paths(stem + std::string(ending));
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
  return batch::job_paths(stem + std::string(kEndings.front()));
}

}  // namespace

Result<batch::JobPaths> find_job(const store::Disk& disk, const std::string& path) {
  const bool errors = path.ends_with(kErrorsSuffix) && path.size() > kErrorsSuffix.size();
  auto paths = errors ? job_of_errors(disk, path) : batch::job_paths(path);
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

}  // namespace windrow::report
