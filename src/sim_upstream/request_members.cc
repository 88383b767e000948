#include "sim_upstream/request_members.h"

#include <fmt/format.h>

#include <boost/json/serialize.hpp>
#include <limits>
#include <utility>

namespace windrow::sim_upstream {

namespace json = boost::json;

Error refusal(std::string message) {
  return {ErrorKind::kInvalid, std::move(message)};
}

const json::value* member(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains(name);
  return value == nullptr || value->is_null() ? nullptr : value;
}

bool is_set(const json::object& object, std::string_view name) {
  const json::value* value = member(object, name);
  return value != nullptr && *value == true;
}

Result<std::optional<int64_t>> whole_number(const json::object& body, std::string_view name,
                                            int64_t value_min, int64_t value_max) {
  const json::value* value = member(body, name);
  if (value == nullptr) return std::optional<int64_t>();
  json::error_code error;
  const auto number = value->to_number<int64_t>(error);
  if (error || number < value_min || number > value_max) {
    return refusal(fmt::format("{} is {}; it must be a whole number from {} to {}", name,
                               json::serialize(*value), value_min, value_max));
  }
  return std::optional(number);
}

Result<std::vector<int32_t>> token_ids(const json::value& value, std::string_view name) {
  std::vector<int32_t> ids;
  if (!value.is_array() || value.get_array().empty())
    return refusal(fmt::format("{} must be a list of at least one token id", name));
  ids.reserve(value.get_array().size());
  for (const json::value& one : value.get_array()) {
    const int64_t* const id = one.if_int64();
    if (id == nullptr || *id < 0 || *id > std::numeric_limits<int32_t>::max()) {
      return refusal(fmt::format("{}[{}] is {}; a token id is a whole number from 0 on", name,
                                 ids.size(), json::serialize(one)));
    }
    ids.push_back(static_cast<int32_t>(*id));
  }
  return ids;
}

}  // namespace windrow::sim_upstream
