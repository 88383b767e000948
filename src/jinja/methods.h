// The methods of strings, dicts, lists and tuples that templates may call. Any thread.
#pragma once

#include <string_view>
#include <utility>

#include "jinja/function.h"
#include "jinja/value.h"

namespace windrow::jinja {

// The method and its name in a static table; null if there is none of that name.
std::pair<MethodPointer, std::string_view> find_method(const Value& self, std::string_view name);

// Whether Python has this method or attribute and Jinja2's sandbox hides it: methods that would
// change a value, and names with underscores.
bool is_hidden_method(const Value& self, std::string_view name);

// The tables, one for each type.
struct MethodEntry {
  std::string_view name;
  MethodPointer method;
};
MethodPointer find_string_method(std::string_view name, std::string_view& shown);
MethodPointer find_dict_method(std::string_view name, std::string_view& shown);
MethodPointer find_list_method(std::string_view name, bool is_tuple, std::string_view& shown);

}  // namespace windrow::jinja
