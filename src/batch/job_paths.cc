#include "batch/job_paths.h"

#include <fmt/format.h>

#include <array>
#include <string_view>

namespace windrow::batch {
namespace {

constexpr std::string_view kErrors = ".errors.jsonl";
constexpr std::string_view kSummary = ".summary.json";
constexpr std::string_view kRecord = ".job.json";
constexpr std::string_view kQuarantine = ".quarantine.jsonl";
constexpr std::string_view kLock = ".lock";

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
                  .lock = fmt::format("{}{}", stem, kLock)};
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
      paths.results == paths.record || paths.results == paths.quarantine) {
    return Error{ErrorKind::kInvalid,
                 fmt::format("the output {} has the name of another file of the job", output_path)};
  }
  return paths;
}

}  // namespace windrow::batch
