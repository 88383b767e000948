// Why rows failed, counted from the errors file: of the whole job, not only of one run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/disk.h"

namespace windrow::batch {

struct FailureCount {
  int32_t status = 0;  // as HTTP would say it; 0 where a line has none
  std::string code;
  int64_t rows = 0;

  friend bool operator==(const FailureCount&, const FailureCount&) = default;
};

// The most frequent first. What is beyond the first kFailureKindsMax kinds met is counted under the
// code "others". Nothing when there is no such file; a torn end does not count. kIo.
Result<std::vector<FailureCount>> count_failures(store::Disk& disk, const std::string& path);

inline constexpr size_t kFailureKindsMax = 50;

}  // namespace windrow::batch
