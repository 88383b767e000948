// Members of parsed JSON that another program wrote, where a member that is absent or of another
// kind means the same. And values that may be absent, as null. Pure; any thread.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cstdint>
#include <optional>
#include <string_view>

namespace windrow {

// "a string", "an empty array", ...: for messages.
std::string_view kind_name(const boost::json::value& value);

// The member of that name; null, or an empty text, where there is none of this kind.
const boost::json::object* object_in(const boost::json::object& object, std::string_view name);
std::string_view text_in(const boost::json::object& object, std::string_view name);

// The member of any value; null where that is null itself, no object, or has no such member.
const boost::json::value* member_in(const boost::json::value* value, std::string_view name);

// null for an absent value, an empty text, or a count below 0.
template <class T>
boost::json::value json_or_null(const std::optional<T>& value) {
  return value ? boost::json::value(*value) : boost::json::value(nullptr);
}
boost::json::value text_or_null(std::string_view text);
boost::json::value count_or_null(int64_t count);

}  // namespace windrow
