// Operations on texts that keep the origin of each character. Positions are in bytes. Used by the
// thread of the Runtime.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "jinja/runtime.h"
#include "jinja/text.h"

namespace windrow::jinja {

// The part [begin, end) of a text; markup stays markup.
TextPtr part_of(Runtime& runtime, const TextPtr& text, size_t begin, size_t end);

// The position of `wanted` in `text` from `from` on, or npos. Always takes linear time.
size_t find_text(std::string_view text, std::string_view wanted, size_t from = 0);
// The last position. Not linear, so its steps are counted.
size_t find_last_text(Runtime& runtime, std::string_view text, std::string_view wanted);

enum class Side : uint8_t { kLeft = 1, kRight = 2, kBoth = 3 };

// Without the characters in `characters` (null: white space) at the sides.
TextPtr strip(Runtime& runtime, const TextPtr& text, const Text* characters, Side side);

enum class Case : uint8_t { kUpper, kLower, kCapitalize, kTitle, kSwap, kFold };
TextPtr change_case(Runtime& runtime, const Text& text, Case to);

// `value` in lower case if it is a text, else as it is: for comparisons that ignore case.
Value without_case(Runtime& runtime, const Value& value);

// Whether all letters that have case are upper (or lower), and there are some.
bool is_all_case(const Text& text, bool upper);

// All occurrences, or at most `count` if that is not negative.
TextPtr replace(Runtime& runtime, const Text& text, const Text& old, const Text& with,
                int64_t count);

// str.split and rsplit: by a separator (null: by white space), at most `count` times unless
// negative.
std::vector<Value> split(Runtime& runtime, const TextPtr& text, const Text* separator,
                         int64_t count, bool from_right);
std::vector<Value> split_lines(Runtime& runtime, const TextPtr& text, bool keep_ends);

TextPtr join(Runtime& runtime, const Text& separator, const std::vector<Value>& texts);

// Padded to `width` characters.
enum class Adjust : uint8_t { kLeft, kRight, kCenter };
TextPtr adjust(Runtime& runtime, const TextPtr& text, int64_t width, const Text& fill, Adjust how);

// Appends `text` with HTML escapes, as markupsafe writes them.
void append_escaped(TextBuilder& out, const Text& text);

}  // namespace windrow::jinja
