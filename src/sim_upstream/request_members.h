// Members of a request's JSON, and what is wrong with them. Pure.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace windrow::sim_upstream {

// kInvalid: a server would answer 400 with this message.
Error refusal(std::string message);

// nullptr where the member is absent or null.
const boost::json::value* member(const boost::json::object& object, std::string_view name);

// Whether the member is true.
bool is_set(const boost::json::object& object, std::string_view name);

Result<std::optional<int64_t>> whole_number(const boost::json::object& body, std::string_view name,
                                            int64_t value_min, int64_t value_max);

// A list of token ids.
Result<std::vector<int32_t>> token_ids(const boost::json::value& value, std::string_view name);

}  // namespace windrow::sim_upstream
