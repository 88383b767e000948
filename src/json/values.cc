#include "json/values.h"

#include <boost/json/array.hpp>
#include <boost/json/string.hpp>

namespace windrow {

std::string_view kind_name(const boost::json::value& value) {
  switch (value.kind()) {
    case boost::json::kind::null:
      return "null";
    case boost::json::kind::bool_:
      return "a boolean";
    case boost::json::kind::int64:
    case boost::json::kind::uint64:
    case boost::json::kind::double_:
      return "a number";
    case boost::json::kind::string:
      return value.get_string().empty() ? "an empty string" : "a string";
    case boost::json::kind::array:
      return value.get_array().empty() ? "an empty array" : "an array";
    case boost::json::kind::object:
      return "an object";
  }
  return "something else";
}

const boost::json::object* object_in(const boost::json::object& object, std::string_view name) {
  const boost::json::value* value = object.if_contains(name);
  return value == nullptr ? nullptr : value->if_object();
}

std::string_view text_in(const boost::json::object& object, std::string_view name) {
  const boost::json::value* value = object.if_contains(name);
  const boost::json::string* text = value == nullptr ? nullptr : value->if_string();
  return text == nullptr ? std::string_view() : std::string_view(*text);
}

const boost::json::value* member_in(const boost::json::value* value, std::string_view name) {
  const boost::json::object* object = value == nullptr ? nullptr : value->if_object();
  return object == nullptr ? nullptr : object->if_contains(name);
}

boost::json::value text_or_null(std::string_view text) {
  if (text.empty()) return nullptr;
  return boost::json::value(boost::json::string_view(text.data(), text.size()));
}

boost::json::value count_or_null(int64_t count) {
  return count < 0 ? boost::json::value(nullptr) : boost::json::value(count);
}

}  // namespace windrow
