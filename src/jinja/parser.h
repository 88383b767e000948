// The parser: turns the source of a template into a tree. Pure.
#pragma once

#include <string_view>

#include "jinja/ast.h"

namespace windrow::jinja {

// `source` has normal lines (lexer.h). Throws Failure.
Tree parse_template(std::string_view source);

}  // namespace windrow::jinja
