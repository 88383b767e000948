// The escapes of a string in a template, which are Python's.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace windrow::jinja {

// What the inside of a literal at `offset` stands for. Throws Failure.
std::string unescape_string(std::string_view inside, size_t offset);

}  // namespace windrow::jinja
