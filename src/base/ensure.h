// ENSURE(condition, "why {}", x): an invariant, checked in every build. If it is false, that is a
// defect of Windrow, never of its input: prints where and why, and aborts. Any thread.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace windrow {

[[noreturn]] inline void ensure_failed(std::string_view condition, std::string_view file, int line,
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

#define ENSURE(condition, ...)  \
  (static_cast<bool>(condition) \
       ? static_cast<void>(0)   \
       : ::windrow::ensure_failed(#condition, __FILE__, __LINE__, ::fmt::format(__VA_ARGS__)))
