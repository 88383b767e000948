// Texts of the formats of JSON Schema, made by the rules of each: what its grammar allows, not only
// what one usually sees. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/random.h"

namespace windrow::structured {

std::span<const std::string_view> format_names();
std::string format_text(std::string_view format, Random& random);

}  // namespace windrow::structured
