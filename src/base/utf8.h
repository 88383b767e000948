// UTF-8: text read and written one Unicode code point at a time, and repaired where a model's bytes
// are not text. Strict: overlong forms, surrogates and code points above U+10FFFF are not UTF-8
// (RFC 3629). Pure, any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace windrow {

// Removes the first code point from `text`, which is not empty, and returns it. Returns nothing and
// leaves `text` unchanged if it does not begin with a well-formed one.
std::optional<char32_t> take_code_point(std::string_view& text);

// Whether all of `text` is UTF-8.
bool is_utf8(std::string_view text);

// All code points of `text`; nothing if it is not UTF-8.
std::optional<std::u32string> code_points(std::string_view text);

// How many there are in `text`, which is UTF-8.
size_t count_code_points(std::string_view text);

void append_utf8(char32_t code_point, std::string& text);

// The number of bytes at the end of `bytes` that are the beginning of an incomplete character
// (0..3).
size_t utf8_incomplete_tail(std::string_view bytes);

// `bytes` with every maximal ill-formed part replaced by U+FFFD, as recommended by the Unicode
// standard (3.9) and done by Python's errors="replace".
std::string utf8_repair(std::string_view bytes);

}  // namespace windrow
