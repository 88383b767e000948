#include "batch/failure_kinds.h"

#include <algorithm>
#include <tuple>

namespace windrow::batch {

void FailureKinds::add(int32_t status, std::string_view code, int64_t rows) {
  const std::scoped_lock lock(mutex_);
  std::pair<int32_t, std::string> kind(status, code);
  if (rows_.size() >= kKindsMax && !rows_.contains(kind)) kind = {0, "others"};
  rows_[std::move(kind)] += rows;
}

std::vector<FailureKind> FailureKinds::read() const {
  std::vector<FailureKind> kinds;
  {
    const std::scoped_lock lock(mutex_);
    kinds.reserve(rows_.size());
    for (const auto& [kind, rows] : rows_)
      kinds.push_back({.status = kind.first, .code = kind.second, .rows = rows});
  }
  std::ranges::sort(kinds, {}, [](const FailureKind& kind) {
    return std::tuple(-kind.rows, kind.status, std::string_view(kind.code));
  });
  return kinds;
}

}  // namespace windrow::batch
