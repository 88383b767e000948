// Jinja2's tests: x is name(...).
#pragma once

#include <string_view>

#include "jinja/ast.h"

namespace windrow::jinja {

// Null when there is none of that name.
TestFunction find_test(std::string_view name);

}  // namespace windrow::jinja
