// Jinja2's filters, x|name(...), and tests, x is name(...). Any thread.
#pragma once

#include <string_view>
#include <vector>

#include "jinja/ast.h"

namespace windrow::jinja {

// Null if there is none of that name.
FilterFunction find_filter(std::string_view name);
TestFunction find_test(std::string_view name);

struct FilterEntry {
  std::string_view name;
  FilterFunction function;
};

// The filters of each file, for find_filter.
const std::vector<FilterEntry>& string_filters();
const std::vector<FilterEntry>& number_filters();
const std::vector<FilterEntry>& sequence_filters();
const std::vector<FilterEntry>& selection_filters();

}  // namespace windrow::jinja
