#include "http/file_limit.h"

#include <sys/resource.h>

#include <algorithm>

namespace windrow::http {

FileLimit raise_file_limit(uint64_t wanted) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return {};
  const FileLimit before{.before = limit.rlim_cur, .now = limit.rlim_cur};
  const auto target = std::min<rlim_t>(wanted, limit.rlim_max);
  if (target <= limit.rlim_cur) return before;
  limit.rlim_cur = target;
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0) return before;
  return {.before = before.before, .now = target};
}

}  // namespace windrow::http
