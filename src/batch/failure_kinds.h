// FailureKinds: how many rows have failed in which way while a job runs, by status and code.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace windrow::batch {

// Rows that failed alike.
struct FailureKind {
  int32_t status = 0;  // of HTTP; 0: the line was no request, or no backend was asked
  std::string code;
  int64_t rows = 0;

  friend bool operator==(const FailureKind&, const FailureKind&) = default;
};

// Thread-safe; its lock is held only to count. All kinds beyond kKindsMax are counted as one, with
// the code "others".
class FailureKinds {
 public:
  static constexpr size_t kKindsMax = 50;

  void add(int32_t status, std::string_view code, int64_t rows = 1);

  // The most frequent first.
  std::vector<FailureKind> read() const;

 private:
  mutable std::mutex mutex_;
  std::map<std::pair<int32_t, std::string>, int64_t> rows_;
};

}  // namespace windrow::batch
