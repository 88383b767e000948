// Lines the plain way, from a whole text: what LineSource must agree with.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "batch/line_source.h"

namespace windrow::batch::testing {

struct FoundLine {
  uint64_t number = 0;
  std::string bytes;  // of the whole line, or its beginning when too_long
  uint64_t length = 0;
  bool too_long = false;

  friend bool operator==(const FoundLine&, const FoundLine&) = default;
};

// `whole`: the text is all there is, so that its last line needs no line end.
inline std::vector<FoundLine> naive_lines(std::string_view text, const LineLimits& limits,
                                          bool whole = true) {
  std::vector<FoundLine> lines;
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  for (uint64_t number = 1; !text.empty(); ++number) {
    const size_t end = text.find('\n');
    if (end == std::string_view::npos && !whole) break;
    std::string_view line = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    const bool too_long = line.size() > limits.line_bytes_max;
    if (!too_long && line.find_first_not_of(" \t") == std::string_view::npos) continue;
    lines.push_back(
        {.number = number,
         .bytes = std::string(too_long ? line.substr(0, limits.too_long_bytes_kept) : line),
         .length = line.size(),
         .too_long = too_long});
  }
  return lines;
}

struct ReadLines {
  std::vector<FoundLine> lines;
  std::string error;  // empty when the end was reached
};

inline ReadLines read_lines(LineSource& source) {
  ReadLines read;
  for (;;) {
    const auto line = source.next();
    if (!line) {
      read.error = line.error().message;
      return read;
    }
    if (!*line) return read;
    read.lines.push_back({.number = (*line)->number,
                          .bytes = std::string((*line)->bytes),
                          .length = (*line)->length,
                          .too_long = (*line)->too_long});
  }
}

}  // namespace windrow::batch::testing
