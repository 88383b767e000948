// Lua's patterns (reference manual 6.4.1), matched within a budget of steps, because a hook does
// not reach into a C function and a pattern may take exponentially long. Pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace windrow::program {

// The steps of one match: some 10 ms.
inline constexpr int64_t kPatternStepsMax = 2'000'000;

// A part of the subject, or for "()" only a position.
struct PatternCapture {
  size_t begin = 0;  // counted from 0
  size_t end = 0;
  bool is_position = false;
};

struct PatternMatch {
  size_t begin = 0;  // of the whole match
  size_t end = 0;
  std::vector<PatternCapture> captures;  // those of the pattern; none: it has none
};

// `fault`: as Lua's own message says it ("malformed pattern (ends with '%')"), or that the budget
// is used up.
struct PatternFault {
  std::string message;
  bool is_budget = false;
};

// The first match that begins at `from` or later; nothing where there is none. Uses up `steps`.
std::variant<std::optional<PatternMatch>, PatternFault> find_pattern(std::string_view subject,
                                                                     std::string_view pattern,
                                                                     size_t from, int64_t& steps);

}  // namespace windrow::program
