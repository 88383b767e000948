#include "sim_upstream/schema_example.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <cmath>
#include <string_view>

namespace windrow::sim_upstream {

namespace json = boost::json;

namespace {

constexpr int kDepthMax = 24;
constexpr int64_t kItemsMax = 64;

class Example {
 public:
  Example(const json::value& root, Random& random) : root_(root), random_(random) {}

  json::value of(const json::value& schema, int depth) {
    const json::object* object = schema.if_object();
    if (object == nullptr || depth > kDepthMax) return nullptr;
    if (const json::value* value = object->if_contains("const")) return *value;
    for (const std::string_view name : {"enum", "anyOf", "oneOf"}) {
      const json::value* list = object->if_contains(name);
      if (list == nullptr || !list->is_array() || list->get_array().empty()) continue;
      const json::array& values = list->get_array();
      const json::value& chosen = values[random_.below(values.size())];
      return name == "enum" ? chosen : of(chosen, depth + 1);
    }
    if (const json::value* ref = object->if_contains("$ref"); ref != nullptr && ref->is_string())
      return of_ref(ref->get_string(), depth);
    return of_type(*object, depth);
  }

 private:
  json::value of_ref(std::string_view ref, int depth) {
    boost::system::error_code error;
    if (!ref.starts_with('#')) return nullptr;
    const json::value* schema = root_.find_pointer(ref.substr(1), error);
    return schema == nullptr ? json::value() : of(*schema, depth + 1);
  }

  json::value of_type(const json::object& schema, int depth) {
    const json::value* type = schema.if_contains("type");
    if (type != nullptr && type->is_array() && !type->get_array().empty())
      type = &type->get_array().front();
    const std::string_view name = type != nullptr && type->is_string()
                                      ? std::string_view(type->get_string())
                                  : schema.contains("properties") ? "object"
                                                                  : "";
    if (name == "object") return of_object(schema, depth);
    if (name == "array") return of_array(schema, depth);
    if (name == "string") return json::string(fmt::format("text {}", random_.below(1000)));
    if (name == "boolean") return random_.chance(0.5);
    if (name == "integer") return std::llround(std::ceil(minimum(schema))) + random_.between(0, 9);
    if (name == "number") return minimum(schema) + random_.unit();
    return nullptr;
  }

  json::value of_object(const json::object& schema, int depth) {
    json::object result;
    const json::value* properties = schema.if_contains("properties");
    if (properties == nullptr || !properties->is_object()) return result;
    for (const auto& [name, property] : properties->get_object())
      result[name] = of(property, depth + 1);
    return result;
  }

  json::value of_array(const json::object& schema, int depth) {
    json::array result;
    const json::value* items = schema.if_contains("items");
    const json::value* count = schema.if_contains("minItems");
    boost::system::error_code error;
    const int64_t wanted = count == nullptr ? 1 : count->to_number<int64_t>(error);
    if (items == nullptr || error) return result;
    for (int64_t i = 0; i < std::min(wanted, kItemsMax); ++i)
      result.push_back(of(*items, depth + 1));
    return result;
  }

  static double minimum(const json::object& schema) {
    boost::system::error_code error;
    const json::value* value = schema.if_contains("minimum");
    const double number = value == nullptr ? 0 : value->to_number<double>(error);
    return error || std::abs(number) > 1e15 ? 0 : number;
  }

  const json::value& root_;
  Random& random_;
};

}  // namespace

json::value example_of_schema(const json::value& schema, Random& random) {
  return Example(schema, random).of(schema, 0);
}

}  // namespace windrow::sim_upstream
