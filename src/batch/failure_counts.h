// Why rows failed, counted: while they are looked at, or from the errors file of a whole job.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
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

inline constexpr size_t kFailureKindsMax = 50;

// Used by one thread. What is beyond the first kFailureKindsMax kinds is counted under the code
// "others".
class FailureCounter {
 public:
  void add(int32_t status, std::string_view code);

  // The most frequent first.
  std::vector<FailureCount> counts() const;

 private:
  std::map<std::pair<int32_t, std::string>, int64_t> counts_;
};

// Nothing when there is no such file; a torn end does not count. kIo.
Result<std::vector<FailureCount>> count_failures(store::Disk& disk, const std::string& path);

}  // namespace windrow::batch
