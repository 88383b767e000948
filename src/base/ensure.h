// ENSURE(condition, "why {}", x): an invariant, checked in every build. A false one is a defect of
// Windrow, never of its input: it says where and why and ends the process.
#pragma once

#include <fmt/format.h>

#include <string_view>

namespace windrow {

[[noreturn]] void ensure_failed(std::string_view condition, std::string_view file, int line,
                                std::string_view reason);

}  // namespace windrow

#define ENSURE(condition, ...)  \
  (static_cast<bool>(condition) \
       ? static_cast<void>(0)   \
       : ::windrow::ensure_failed(#condition, __FILE__, __LINE__, ::fmt::format(__VA_ARGS__)))
