#include "schema/program.h"

#include <algorithm>

namespace windrow::schema {

bool ObjectRules::declares(std::string_view name) const {
  if (properties.contains(name)) return true;
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](const auto& one) { return one.first->found_in(name); });
}

}  // namespace windrow::schema
