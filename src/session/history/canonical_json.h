// The canonical form of JSON: bytes that are equal for values that mean the same, and only for
// these. The order of members does not matter, 1 and 1.0 and 1e0 are one number, true is none. Each
// part begins with its kind and length, so that no text can look like a structure. Pure; any
// thread.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace windrow::session {

// Append the form of a value or of a text to `form`. A double counts as the shortest decimal that
// reads back as it.
void append_canonical(const boost::json::value& value, std::string& form);
void append_canonical_text(std::string_view text, std::string& form);

// Begin an array or object of that many parts: the elements follow, or each name, as a text, with
// its value, sorted by the names.
void begin_canonical_array(size_t elements, std::string& form);
void begin_canonical_object(size_t members, std::string& form);

// The members, sorted by their names.
std::vector<const boost::json::key_value_pair*> sorted_members(const boost::json::object& object);

// The form of the object that `text` is as JSON, with every digit of its numbers. Nothing for a
// text that is no object, that JSON does not allow (NaN, for one), in which an object has the same
// name twice, or that is nested deeper than kJsonDepthMax.
std::optional<std::string> canonical_object_of(std::string_view text);

}  // namespace windrow::session
