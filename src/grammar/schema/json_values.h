// JSON values as values: what is equal, and the one compact text each has. Pure.
#pragma once

#include <boost/json/value.hpp>
#include <string>
#include <string_view>

namespace windrow::grammar {

// As JSON Schema means it: numbers by what they are (1 is 1.0), objects in any order.
bool same_value(const boost::json::value& left, const boost::json::value& right);

// "ab\n" -> "\"ab\\n\"": what is below U+0020, quotes and backslashes are escaped, in the short
// form where there is one.
std::string json_quoted(std::string_view text);

// Without blanks, members in their order, numbers as Decimal::text().
std::string compact_json(const boost::json::value& value);

}  // namespace windrow::grammar
