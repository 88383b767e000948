#include "grammar/schema/harmless.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>

#include "grammar/schema/decimal.h"
#include "grammar/schema/keywords.h"

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

bool at_most(const json::value& value, size_t limit) {
  const auto number = Decimal::of(value);
  return number && *number <= Decimal(static_cast<int64_t>(limit));
}

// A schema that demands nothing of a name but that it is a string, which it is.
bool allows_every_name(const json::value& schema) {
  if (allows_all(schema)) return true;
  const json::object* object = schema.if_object();
  return object != nullptr && std::ranges::all_of(*object, [](const auto& member) {
           if (member.key() == "type") return member.value() == "string";
           const Keyword* keyword = find_keyword(member.key());
           return keyword != nullptr && keyword->use == KeywordUse::kIgnored;
         });
}

// How many members an object has at least that has those of `required`.
size_t count_required(const json::value* required) {
  const json::array* names = required == nullptr ? nullptr : required->if_array();
  if (names == nullptr) return 0;
  std::set<std::string_view> different;
  for (const json::value& name : *names) {
    if (name.is_string()) different.insert(name.get_string());
  }
  return different.size();
}

// How many it has at most that may have no others than those of `properties`; nothing: any number.
std::optional<size_t> count_allowed(const json::object& schema) {
  const json::value* additional = schema.if_contains("additionalProperties");
  if (additional == nullptr || !allows_none(*additional)) return std::nullopt;
  if (schema.contains("patternProperties")) return std::nullopt;
  const json::value* properties = schema.if_contains("properties");
  const json::object* names = properties == nullptr ? nullptr : properties->if_object();
  return names == nullptr ? 0 : names->size();
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
    return most != nullptr && at_most(*most, 1);
  }
  if (keyword == "minProperties") return at_most(value, count_required(beside("required")));
  if (keyword == "maxProperties") {
    const std::optional<size_t> most = count_allowed(siblings);
    return most && Decimal::of(value) &&
           !(*Decimal::of(value) < Decimal(static_cast<int64_t>(*most)));
  }
  if (keyword == "propertyNames") return allows_every_name(value);
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
