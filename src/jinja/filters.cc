#include "jinja/filters.h"

namespace windrow::jinja {

FilterFunction find_filter(std::string_view name) {
  for (const auto* table :
       {&string_filters(), &number_filters(), &sequence_filters(), &selection_filters()}) {
    for (const FilterEntry& entry : *table) {
      if (entry.name == name) return entry.function;
    }
  }
  return nullptr;
}

}  // namespace windrow::jinja
