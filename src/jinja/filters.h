// Jinja2's filters: x|name(...).
#pragma once

#include <string_view>
#include <vector>

#include "jinja/ast.h"

namespace windrow::jinja {

// Null when there is none of that name.
FilterFunction find_filter(std::string_view name);

struct FilterEntry {
  std::string_view name;
  FilterFunction function;
};

// The tables, one a file (filters_*.cc).
const std::vector<FilterEntry>& string_filters();
const std::vector<FilterEntry>& number_filters();
const std::vector<FilterEntry>& sequence_filters();
const std::vector<FilterEntry>& selection_filters();

// Jinja2's tests: x is name(...).

// Null when there is none of that name.
TestFunction find_test(std::string_view name);

}  // namespace windrow::jinja
