#include "grammar/schema/harmless.h"

#include <algorithm>

#include "grammar/schema/decimal.h"

namespace windrow::grammar {
namespace {

namespace json = boost::json;

// true or {}.
bool allows_all(const json::value& schema) {
  return (schema.is_bool() && schema.get_bool()) ||
         (schema.is_object() && schema.get_object().empty());
}

bool allows_none(const json::value& schema) {
  return schema.is_bool() && !schema.get_bool();
}

bool is_zero(const json::value& value) {
  const auto number = Decimal::of(value);
  return number && number->is_zero();
}

bool at_most_one(const json::value& value) {
  const auto number = Decimal::of(value);
  return number && *number <= Decimal(1);
}

// A member for each name: nothing is demanded of any.
bool demands_nothing(const json::value& dependencies) {
  const json::object* object = dependencies.if_object();
  return object != nullptr && std::ranges::all_of(*object, [](const auto& member) {
           const json::value& demand = member.value();
           return allows_all(demand) || (demand.is_array() && demand.get_array().empty());
         });
}

}  // namespace

bool constrains_nothing(std::string_view keyword, const json::value& value,
                        const json::object& siblings) {
  const auto beside = [&](std::string_view name) { return siblings.if_contains(name); };
  if (keyword == "not") return allows_none(value);
  if (keyword == "uniqueItems") {
    if (value.is_bool() && !value.get_bool()) return true;
    const json::value* most = beside("maxItems");
    return most != nullptr && at_most_one(*most);
  }
  if (keyword == "minProperties") return is_zero(value);
  if (keyword == "propertyNames") return allows_all(value);
  if (keyword == "unevaluatedItems" || keyword == "unevaluatedProperties") {
    return allows_all(value);
  }
  if (keyword == "dependencies" || keyword == "dependentRequired" ||
      keyword == "dependentSchemas") {
    return demands_nothing(value);
  }
  if (keyword == "minContains" || keyword == "maxContains") return beside("contains") == nullptr;
  if (keyword == "contains") {
    const json::value* least = beside("minContains");
    return least != nullptr && is_zero(*least) && beside("maxContains") == nullptr;
  }
  if (keyword == "if") return beside("then") == nullptr && beside("else") == nullptr;
  if (keyword == "then" || keyword == "else") {
    return beside("if") == nullptr || allows_all(value);
  }
  return false;
}

}  // namespace windrow::grammar
