// Reads and writes UTF-8 one Unicode code point at a time. Strict: overlong forms, surrogates and
// code points above U+10FFFF are no UTF-8 (RFC 3629). Pure, any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace windrow {

// Removes the first code point from `text`, which is not empty, and returns it. Returns nothing and
// leaves `text` unchanged if it does not begin with a well-formed one.
std::optional<char32_t> take_code_point(std::string_view& text);

// All code points of `text`; nothing if it is no UTF-8.
std::optional<std::u32string> code_points(std::string_view text);

// How many there are in `text`, which is UTF-8.
size_t count_code_points(std::string_view text);

void append_utf8(char32_t code_point, std::string& text);

}  // namespace windrow
