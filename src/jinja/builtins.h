// What templates may call by name: Jinja2's filters, x|name(...), its tests, x is name(...), the
// methods of strings, dicts, lists and tuples, and global functions. Tables of names and functions,
// in the files filters*.cc, tests.cc, methods*.cc and globals.cc. Any thread.
#pragma once

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "jinja/ast.h"
#include "jinja/function.h"
#include "jinja/runtime.h"
#include "jinja/value.h"

namespace windrow::jinja {

// --- filters and tests

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

// --- methods

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

// --- global functions: range, dict, namespace, cycler, joiner, raise_exception, strftime_now

// Nothing if there is none of that name.
std::optional<Value> find_global(Runtime& runtime, std::string_view name);

// The only object whose attributes can be assigned: set ns.x = 1.
class Namespace final : public Object {
 public:
  void set(Runtime& runtime, const TextPtr& name, const Value& value);

  const char* type_name() const override { return "Namespace"; }
  void print(Runtime& runtime, TextBuilder& out) override;
  bool attribute(Runtime& runtime, std::string_view name, Value& value) override;

 private:
  std::vector<std::pair<TextPtr, Value>> values_;
};

}  // namespace windrow::jinja
