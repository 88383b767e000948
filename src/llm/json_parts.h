// What the writers of answers share: JSON put together as text, without a document in between.
#pragma once

#include <fmt/format.h>

#include <iterator>
#include <string>
#include <utility>

namespace windrow::llm {

template <class... Args>
void append(std::string& text, fmt::format_string<Args...> format, Args&&... args) {
  fmt::format_to(std::back_inserter(text), format, std::forward<Args>(args)...);
}

// Writes the elements with commas between them.
template <class List, class Write>
void append_array(std::string& text, const List& list, Write write) {
  text += '[';
  bool first = true;
  for (const auto& element : list) {
    if (!first) text += ',';
    first = false;
    write(element);
  }
  text += ']';
}

}  // namespace windrow::llm
