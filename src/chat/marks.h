// White space, and marks that are only partly there: what all readers of answers need. Pure.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace windrow::chat {

constexpr std::string_view kSpace = " \t\r\n";

constexpr bool is_space(char byte) {
  return kSpace.find(byte) != std::string_view::npos;
}

// Without white space at both ends.
constexpr std::string_view without_space(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(kSpace), text.size()));
  return text.substr(0, text.find_last_not_of(kSpace) + 1);
}

// How many bytes at the end of `text` may be the beginning of `mark`, which is not empty.
constexpr size_t partial_suffix(std::string_view text, std::string_view mark) {
  for (size_t size = std::min(text.size(), mark.size() - 1); size > 0; --size) {
    if (text.ends_with(mark.substr(0, size))) return size;
  }
  return 0;
}

}  // namespace windrow::chat
