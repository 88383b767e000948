// Characters of UTF-8 text, as JSON Schema counts them.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace windrow::schema {

// Nothing where `text` is no UTF-8.
std::optional<std::u32string> code_points(std::string_view text);

// Of text that is UTF-8.
size_t count_code_points(std::string_view text);

}  // namespace windrow::schema
