// Counts of failures by status and code: of rows that are being checked, or of an errors file.
#pragma once

#include <boost/json/array.hpp>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "store/disk.h"

namespace windrow::report {

struct FailureCount {
  int32_t status = 0;  // of HTTP; 0: the lines were malformed
  std::string code;
  int64_t rows = 0;
  std::string example{};  // about the first: "custom_id "a": temperature is 9"; may be empty

  friend bool operator==(const FailureCount&, const FailureCount&) = default;
};

// [{"status": 404, "code": "model_not_found", "rows": 12}], where status 0 is null; and
// "12 x 404 model_not_found".
boost::json::array failures_to_json(const std::vector<FailureCount>& failures);
std::string failure_text(const FailureCount& failure);

inline constexpr size_t kFailureKindsMax = 50;

// Used by one thread. Kinds beyond the first kFailureKindsMax are counted under the code "others".
class FailureCounter {
 public:
  void add(int32_t status, std::string_view code, std::string_view example = {});

  // The most frequent first.
  std::vector<FailureCount> counts() const;

 private:
  struct Seen {
    int64_t rows = 0;
    std::string example;
  };

  std::map<std::pair<int32_t, std::string>, Seen> kinds_;
};

// Counts the failures in an errors file, without a torn end; none if there is no such file. kIo.
Result<std::vector<FailureCount>> count_failures(store::Disk& disk, const std::string& path);

}  // namespace windrow::report
