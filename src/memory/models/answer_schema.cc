#include "memory/models/answer_schema.h"

#include <utility>

namespace windrow::memory {

boost::json::object closed_object(boost::json::object properties) {
  boost::json::array required;
  for (const auto& member : properties)
    required.emplace_back(member.key());
  return {{"type", "object"},
          {"properties", std::move(properties)},
          {"required", std::move(required)},
          {"additionalProperties", false}};
}

boost::json::object text_schema() {
  return {{"type", "string"}};
}

boost::json::object one_of(boost::json::array values) {
  return {{"type", "string"}, {"enum", std::move(values)}};
}

boost::json::object list_schema(boost::json::object items, std::optional<int64_t> items_max) {
  boost::json::object list{{"type", "array"}, {"items", std::move(items)}};
  if (items_max) list["maxItems"] = *items_max;
  return list;
}

}  // namespace windrow::memory
