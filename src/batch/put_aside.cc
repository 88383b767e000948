#include "batch/put_aside.h"

#include <cstdint>

namespace windrow::batch {
namespace {

std::vector<std::string> retried_of(const store::Disk& disk, const JobPaths& paths) {
  std::vector<std::string> names;
  for (int32_t n = 1; disk.exists(paths.retried(n)); ++n)
    names.push_back(paths.retried(n));
  return names;
}

bool any_exists(const store::Disk& disk, const JobPaths& paths) {
  return disk.exists(paths.results) || disk.exists(paths.errors) || disk.exists(paths.summary) ||
         disk.exists(paths.record) || disk.exists(paths.retried(1));
}

}  // namespace

std::vector<Move> plan_job_aside(const store::Disk& disk, const JobPaths& paths) {
  int32_t n = 1;
  while (any_exists(disk, paths.old(n)))
    ++n;
  const JobPaths old = paths.old(n);
  std::vector<Move> moves;
  const auto add = [&](const std::string& from, const std::string& to) {
    if (disk.exists(from)) moves.push_back({from, to});
  };
  add(paths.record, old.record);
  add(paths.results, old.results);
  add(paths.errors, old.errors);
  add(paths.summary, old.summary);
  int32_t number = 0;
  for (const std::string& name : retried_of(disk, paths))
    add(name, old.retried(++number));
  return moves;
}

std::vector<Move> plan_errors_aside(store::Disk& disk, const JobPaths& paths) {
  auto errors = disk.open_read(paths.errors);
  if (!errors) return {};
  const auto size = (*errors)->size();
  if (size && *size == 0) return {};
  const size_t n = retried_of(disk, paths).size() + 1;
  return {{paths.errors, paths.retried(static_cast<int32_t>(n))}};
}

Result<void> move_all(store::Disk& disk, const std::vector<Move>& moves) {
  for (const Move& move : moves) {
    if (auto done = disk.rename(move.from, move.to); !done) return done;
    if (auto done = disk.sync_folder_of(move.to); !done) return done;
  }
  return {};
}

}  // namespace windrow::batch
