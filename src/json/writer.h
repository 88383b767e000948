// JSON written as text. append_json() writes straight into a string: an answer may hold a million
// numbers, and a document of them would be many times as large and slower to write. plain_json()
// and pretty_json() are for people: numbers as they are usually written (0.5, not 5E-1). Pure; any
// thread.
#pragma once

#include <fmt/format.h>

#include <boost/json/value.hpp>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

namespace windrow {

// Appends a string with its quotes and escapes. `value` is UTF-8.
void append_json(std::string_view value, std::string& text);

// Appends the shortest number that is read back as the same, or null where it is not finite.
// A whole number keeps ".0", so that typed readers see a float.
void append_json(float value, std::string& text);
void append_json(double value, std::string& text);

// Appends a value without white space; its numbers as plain_json() writes them.
void append_compact_json(const boost::json::value& value, std::string& text);

// Appends an array: calls `write(element)`, which appends to the same text, with commas between.
template <class List, class Write>
void append_json_array(std::string& text, const List& list, Write write) {
  text += '[';
  bool first = true;
  for (const auto& element : list) {
    if (!first) text += ',';
    first = false;
    write(element);
  }
  text += ']';
}

// Appends what fmt::format would return.
template <class... Args>
void append_format(std::string& text, fmt::format_string<Args...> format, Args&&... args) {
  fmt::format_to(std::back_inserter(text), format, std::forward<Args>(args)...);
}

// On one line, without a line end.
std::string plain_json(const boost::json::value& value);

// Indented, short inner objects and arrays on one line. Ends with a line end.
std::string pretty_json(const boost::json::value& value);

}  // namespace windrow
