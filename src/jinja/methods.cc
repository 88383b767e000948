#include "jinja/methods.h"

#include <algorithm>
#include <array>

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
  // What every Python object has.
  static constexpr std::array<std::string_view, 8> kOfAll = {
      "__class__", "__dict__", "__doc__", "__init__", "__len__", "__str__", "__repr__", "__eq__"};
  const auto holds = [&](const auto& names) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  if (self.is_dict() && holds(kOfDicts)) return true;
  if (self.is_list_or_tuple() && !self.list().is_tuple() && holds(kOfLists)) return true;
  return name.starts_with("__") && holds(kOfAll);
}

}  // namespace windrow::jinja
