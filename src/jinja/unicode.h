// Properties of characters as in Python's str, and UTF-8 one character at a time. Expects
// well-formed UTF-8: all text that enters this module is repaired to it. Pure, any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace windrow::jinja {

// The character at position `at`; advances `at` past it.
char32_t next_character(std::string_view text, size_t& at);

// The position of the character before `at`.
size_t previous_position(std::string_view text, size_t at);

void append_utf8(std::string& text, char32_t character);

size_t count_characters(std::string_view text);

// The methods of these names of a Python string of one character.
bool is_alpha(char32_t c);
bool is_decimal(char32_t c);
bool is_digit(char32_t c);
bool is_numeric(char32_t c);
bool is_space(char32_t c);
bool is_printable(char32_t c);
bool is_upper(char32_t c);
bool is_lower(char32_t c);
bool is_titlecase(char32_t c);  // the few letters that are neither, such as U+01C5

inline bool is_alnum(char32_t c) {
  return is_alpha(c) || is_decimal(c) || is_digit(c) || is_numeric(c);
}

// \w of a regular expression.
inline bool is_word(char32_t c) {
  return c == U'_' || is_alnum(c);
}

// Whether str.splitlines splits at it.
bool is_line_end(char32_t c);

// Appends the full mapping, which may be several characters.
void append_upper(std::string& text, char32_t c);
void append_lower(std::string& text, char32_t c);
void append_title(std::string& text, char32_t c);
void append_casefold(std::string& text, char32_t c);

}  // namespace windrow::jinja
