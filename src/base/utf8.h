// UTF-8: models produce bytes, JSON wants text.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace windrow {

// How many bytes at the end of `bytes` may still become a character when more bytes follow (0..3).
size_t utf8_incomplete_tail(std::string_view bytes);

// `bytes` with every maximal ill-formed part replaced by U+FFFD, as the Unicode standard (3.9)
// recommends and Python's errors="replace" does.
std::string utf8_repair(std::string_view bytes);

}  // namespace windrow
