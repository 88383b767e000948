// Moving files of an earlier job out of the way, under names that nobody has: planned while a job
// is opened, done when it begins.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "batch/job_paths.h"
#include "store/disk.h"

namespace windrow::batch {

struct Move {
  std::string from;
  std::string to;

  friend bool operator==(const Move&, const Move&) = default;
};

// --fresh: every file of the job, to the names of the first old(n) that is free. The record comes
// first: what is left without one when the process ends in between is refused until --fresh is said
// again. The summary is next: it tells of results.
std::vector<Move> plan_job_aside(const store::Disk& disk, const JobPaths& paths);

// One by one, each safe before the next.
Result<void> move_all(store::Disk& disk, const std::vector<Move>& moves);

}  // namespace windrow::batch
