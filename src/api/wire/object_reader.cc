#include "api/wire/object_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace windrow::api {

namespace json = boost::json;

using llm::Problem;
using llm::shown;

ObjectReader::ObjectReader(std::string place, const json::object& object)
    : place_(std::move(place)), object_(object) {}

std::string ObjectReader::place(std::string_view member) const {
  return fmt::format("{}.{}", place_, member);
}

const json::value* ObjectReader::take(std::string_view member) {
  taken_.push_back(member);
  const json::value* value = object_.if_contains(member);
  return value == nullptr || value->is_null() ? nullptr : value;
}

void ObjectReader::skip(std::initializer_list<std::string_view> members) {
  taken_.insert(taken_.end(), members);
}

Problem ObjectReader::need(std::string_view member, std::string& target) {
  const json::value* value = take(member);
  if (value != nullptr) return llm::read_string(*value, place(member), target);
  return llm::missing_parameter(
      place(member), fmt::format("{} has no {}; it must have one, a string", place_, member));
}

Problem ObjectReader::rest(std::string_view has) const {
  for (const auto& [member, value] : object_) {
    const std::string_view name = member;
    if (value.is_null() || std::ranges::find(taken_, name) != taken_.end()) continue;
    const std::string at = place(shown(name));
    return llm::unsupported(at, fmt::format("{} is not supported; {}", at, has));
  }
  return std::nullopt;
}

Problem read_object(const json::value& value, std::string_view place, std::string_view wanted,
                    const json::object*& object) {
  object = value.if_object();
  if (object == nullptr) return llm::wrong_kind(place, wanted, value);
  return std::nullopt;
}

}  // namespace windrow::api
