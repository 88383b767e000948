// Characters of a UTF-8 text, one after the other. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace windrow::grammar {

// Takes the first character of `text` away and returns it; none, and `text` stays, where it does
// not begin with a well-formed one. `text` is not empty.
std::optional<char32_t> take_character(std::string_view& text);

// All of them, or none where the text is not UTF-8.
std::optional<std::u32string> characters_of(std::string_view text);

void append_utf8(char32_t character, std::string& text);

}  // namespace windrow::grammar
