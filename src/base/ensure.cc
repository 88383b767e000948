#include "base/ensure.h"

#include <cstdio>
#include <cstdlib>

namespace windrow {

void ensure_failed(std::string_view condition, std::string_view file, int line,
                   std::string_view reason) {
  fmt::print(stderr,
             "windrow: internal error: {} ({} is false, {}:{})\n"
             "windrow: this is a defect; results already written are safe, and the same command "
             "continues\n",
             reason, condition, file, line);
  std::fflush(stderr);
  std::abort();
}

}  // namespace windrow
