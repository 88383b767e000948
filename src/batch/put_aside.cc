#include "batch/put_aside.h"

#include <cstdint>

namespace windrow::batch {
namespace {

bool any_exists(const store::Disk& disk, const JobPaths& paths) {
  return disk.exists(paths.results) || disk.exists(paths.errors) || disk.exists(paths.summary) ||
         disk.exists(paths.record) || disk.exists(paths.quarantine);
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

}  // namespace windrow::batch
