// UTF-8: models produce bytes, and JSON must be text. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace windrow {

// The number of bytes at the end of `bytes` that are the beginning of an incomplete character
// (0..3).
size_t utf8_incomplete_tail(std::string_view bytes);

// `bytes` with every maximal ill-formed part replaced by U+FFFD, as recommended by the Unicode
// standard (3.9) and done by Python's errors="replace".
std::string utf8_repair(std::string_view bytes);

}  // namespace windrow
