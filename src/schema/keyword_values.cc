#include "schema/keyword_values.h"

#include <fmt/format.h>

#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "schema/program.h"

namespace windrow::schema {

namespace json = boost::json;

namespace {

constexpr std::array<std::pair<std::string_view, uint8_t>, 7> kTypes = {{
    {"null", kNullType},
    {"boolean", kBooleanType},
    {"integer", kIntegerType},
    {"number", kNumberType},
    {"string", kStringType},
    {"array", kArrayType},
    {"object", kObjectType},
}};

}  // namespace

const json::object& object_of(const json::value& value, const std::string& at) {
  const json::object* object = value.if_object();
  if (object == nullptr) throw Refusal{at, "must be an object"};
  return *object;
}

std::vector<std::string> names_of(const json::value& value, const std::string& at) {
  const json::array* array = value.if_array();
  std::vector<std::string> names;
  for (size_t i = 0; array != nullptr && i < array->size(); ++i) {
    const json::string* name = (*array)[i].if_string();
    if (name == nullptr) throw Refusal{fmt::format("{}/{}", at, i), "must be a string"};
    names.emplace_back(*name);
  }
  if (array == nullptr) throw Refusal{at, "must be an array of names"};
  return names;
}

Decimal number_of(const json::value& value, const std::string& at) {
  std::optional<Decimal> number = Decimal::from_json(value);
  if (!number) {
    throw Refusal{at, value.is_bool() ? "must be a number; true and false are of draft-04"
                                      : "must be a number"};
  }
  return *std::move(number);
}

uint64_t count_of(const json::value& value, const std::string& at) {
  const std::optional<Decimal> number = Decimal::from_json(value);
  const std::optional<uint64_t> count = number ? number->to_count() : std::nullopt;
  if (!count) throw Refusal{at, "must be a whole number from 0 up"};
  return *count;
}

bool flag_of(const json::value& value, const std::string& at) {
  const bool* flag = value.if_bool();
  if (flag == nullptr) throw Refusal{at, "must be true or false"};
  return *flag;
}

Value value_of(const json::value& value, const std::string& at) {
  std::optional<Value> result = Value::from_json(value);
  if (!result) throw Refusal{at, "has a number that is too large"};
  return *std::move(result);
}

uint8_t types_of(const json::value& value, const std::string& at) {
  const auto bit = [](const json::value& name, const std::string& place) {
    for (const auto& [known, type] : kTypes) {
      if (name.is_string() && name.get_string() == known) return type;
    }
    throw Refusal{place, "must be null, boolean, integer, number, string, array or object"};
  };
  const json::array* array = value.if_array();
  if (array == nullptr) return bit(value, at);
  if (array->empty()) throw Refusal{at, "must not be empty"};
  unsigned types = 0;
  for (size_t i = 0; i < array->size(); ++i)
    types |= bit((*array)[i], fmt::format("{}/{}", at, i));
  return static_cast<uint8_t>(types);
}

}  // namespace windrow::schema
