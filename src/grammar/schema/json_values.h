// JSON values compared by their meaning, their compact text, and sets of them. Pure.
#pragma once

#include <boost/json/value.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace windrow::grammar {

// Equality as in JSON Schema: 1 equals 1.0, and the order of members does not matter.
bool same_value(const boost::json::value& left, const boost::json::value& right);

// Whether two items are the same.
bool has_equal_items(const boost::json::array& array);

// A JSON string: "ab\n" -> "\"ab\\n\"". Control characters below U+0020, quotes and backslashes are
// escaped, in the short form if there is one.
std::string json_quoted(std::string_view text);

// Without white space, members in their order, numbers as Decimal::text().
std::string compact_json(const boost::json::value& value);

// One text for all values that are the same. Nothing for a value that is the same as no other: it
// has a number that is not handled.
std::optional<std::string> value_key(const boost::json::value& value);

// A hash set of JSON values, equal as same_value() says.
class ValueSet {
 public:
  explicit ValueSet(const std::vector<const boost::json::value*>& values);

  bool contains(const boost::json::value& value) const;
  bool has_common(const ValueSet& other) const;

  // Removes the values that are not in the set from `values`.
  void keep_common(std::vector<const boost::json::value*>& values) const;

 private:
  std::unordered_set<std::string> keys_;
};

}  // namespace windrow::grammar
