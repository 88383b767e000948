#include "jinja/builtins.h"

#include <algorithm>
#include <array>

#include "jinja/failure.h"
#include "jinja/iterables.h"
#include "jinja/number.h"

namespace windrow::jinja {

std::pair<MethodPointer, std::string_view> find_method(const Value& self, std::string_view name) {
  std::string_view shown;
  MethodPointer method = nullptr;
  if (self.is_text()) {
    method = find_string_method(name, shown);
  } else if (self.is_dict()) {
    method = find_dict_method(name, shown);
  } else if (self.is_list_or_tuple()) {
    method = find_list_method(name, self.list().is_tuple(), shown);
  }
  return {method, shown};
}

bool is_hidden_method(const Value& self, std::string_view name) {
  static constexpr std::array<std::string_view, 8> kOfLists = {
      "append", "clear", "extend", "insert", "pop", "remove", "reverse", "sort"};
  static constexpr std::array<std::string_view, 5> kOfDicts = {"clear", "pop", "popitem",
                                                               "setdefault", "update"};
  // Attributes of every Python object.
  static constexpr std::array<std::string_view, 8> kOfAll = {
      "__class__", "__dict__", "__doc__", "__init__", "__len__", "__str__", "__repr__", "__eq__"};
  const auto holds = [&](const auto& names) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  if (self.is_dict() && holds(kOfDicts)) return true;
  if (self.is_list_or_tuple() && !self.list().is_tuple() && holds(kOfLists)) return true;
  return name.starts_with("__") && holds(kOfAll);
}

// --- methods of dicts, lists and tuples ----------------------------------------------------------

namespace {

Value dict_get(Runtime&, const Value& self, Arguments& arguments) {
  const Bound bound(arguments, "get", {"", ""}, 1);
  if (!is_hashable(bound[0])) fail("unhashable type: '{}'", type_name(bound[0]));
  if (const Value* found = self.dict().find(bound[0])) return *found;
  return bound.has(1) ? bound[1] : Value(None{});
}

Value dict_items(Runtime& runtime, const Value& self, Arguments& arguments) {
  const Bound bound(arguments, "items", {}, 0);
  return Value(runtime.make<DictView>(self.dict_ptr(), DictView::Part::kItems));
}

Value dict_keys(Runtime& runtime, const Value& self, Arguments& arguments) {
  const Bound bound(arguments, "keys", {}, 0);
  return Value(runtime.make<DictView>(self.dict_ptr(), DictView::Part::kKeys));
}

Value dict_values(Runtime& runtime, const Value& self, Arguments& arguments) {
  const Bound bound(arguments, "values", {}, 0);
  return Value(runtime.make<DictView>(self.dict_ptr(), DictView::Part::kValues));
}

Value copy(Runtime&, const Value& self, Arguments& arguments) {
  const Bound bound(arguments, "copy", {}, 0);
  return self;
}

Value list_count(Runtime& runtime, const Value& self, Arguments& arguments) {
  const Bound bound(arguments, "count", {""}, 1);
  int64_t count = 0;
  for (const Value& item : self.list().items())
    count += runtime.equal(item, bound[0]) ? 1 : 0;
  return Value::integer(count);
}

Value list_index(Runtime& runtime, const Value& self, Arguments& arguments) {
  const Bound bound(arguments, "index", {"", "", ""}, 1);
  const auto& items = self.list().items();
  const auto size = static_cast<int64_t>(items.size());
  const auto clamped = [size](int64_t at) {
    return std::clamp<int64_t>(at < 0 ? at + size : at, 0, size);
  };
  for (int64_t i = clamped(bound.integer(1, 0)); i < clamped(bound.integer(2, size)); ++i) {
    if (runtime.equal(items[static_cast<size_t>(i)], bound[0])) return Value::integer(i);
  }
  fail("'index': the value is not in the list");
}

template <size_t N>
MethodPointer find_in(const std::array<MethodEntry, N>& table, std::string_view name,
                      std::string_view& shown) {
  const auto* found = std::find_if(table.begin(), table.end(),
                                   [&](const MethodEntry& entry) { return entry.name == name; });
  if (found == table.end()) return nullptr;
  shown = found->name;
  return found->method;
}

}  // namespace

MethodPointer find_dict_method(std::string_view name, std::string_view& shown) {
  static constexpr std::array<MethodEntry, 5> kMethods = {{{"get", dict_get},
                                                           {"items", dict_items},
                                                           {"keys", dict_keys},
                                                           {"values", dict_values},
                                                           {"copy", copy}}};
  return find_in(kMethods, name, shown);
}

MethodPointer find_list_method(std::string_view name, bool is_tuple, std::string_view& shown) {
  static constexpr std::array<MethodEntry, 3> kMethods = {
      {{"count", list_count}, {"index", list_index}, {"copy", copy}}};
  const MethodPointer found = find_in(kMethods, name, shown);
  return is_tuple && found == copy ? nullptr : found;
}

}  // namespace windrow::jinja
