// JSON written straight into a text: answers may hold a million numbers, and a tree of them would
// be many times as large and slower to write.
#pragma once

#include <string>
#include <string_view>

namespace windrow::llm {

// `value` is UTF-8.
void append_json(std::string_view value, std::string& text);

// The fewest digits that are read back as the same float; null where it is no number. A whole one
// keeps a ".0", so that readers with types see what it is.
void append_json(float value, std::string& text);

}  // namespace windrow::llm
