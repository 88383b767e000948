#include "grammar/schema/json_values.h"

#include <fmt/format.h>

#include "grammar/schema/decimal.h"

namespace windrow::grammar {
namespace json = boost::json;

bool same_value(const json::value& left, const json::value& right) {
  if (left.is_number() && right.is_number()) {
    const auto a = Decimal::of(left);
    const auto b = Decimal::of(right);
    return a && b && *a == *b;
  }
  if (left.is_object() && right.is_object()) {
    const json::object& a = left.get_object();
    const json::object& b = right.get_object();
    if (a.size() != b.size()) return false;
    for (const auto& [name, value] : a) {
      const json::value* other = b.if_contains(name);
      if (other == nullptr || !same_value(value, *other)) return false;
    }
    return true;
  }
  if (left.is_array() && right.is_array()) {
    const json::array& a = left.get_array();
    const json::array& b = right.get_array();
    if (a.size() != b.size()) return false;
    for (size_t i = 0; i < a.size(); ++i) {
      if (!same_value(a[i], b[i])) return false;
    }
    return true;
  }
  return left == right;
}

std::string json_quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    switch (c) {
      case '"':
        result += "\\\"";
        break;
      case '\\':
        result += "\\\\";
        break;
      case '\b':
        result += "\\b";
        break;
      case '\f':
        result += "\\f";
        break;
      case '\n':
        result += "\\n";
        break;
      case '\r':
        result += "\\r";
        break;
      case '\t':
        result += "\\t";
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20) {
          result += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
        } else {
          result += c;
        }
    }
  }
  return result += '"';
}

std::string compact_json(const json::value& value) {
  switch (value.kind()) {
    case json::kind::null:
      return "null";
    case json::kind::bool_:
      return value.get_bool() ? "true" : "false";
    case json::kind::int64:
    case json::kind::uint64:
    case json::kind::double_: {
      const auto number = Decimal::of(value);
      return number ? number->text() : "0";
    }
    case json::kind::string:
      return json_quoted(value.get_string());
    case json::kind::array: {
      std::string result = "[";
      for (const json::value& item : value.get_array()) {
        if (result.size() > 1) result += ',';
        result += compact_json(item);
      }
      return result += ']';
    }
    case json::kind::object: {
      std::string result = "{";
      for (const auto& [name, member] : value.get_object()) {
        if (result.size() > 1) result += ',';
        result += json_quoted(name) + ":" + compact_json(member);
      }
      return result += '}';
    }
  }
  return "null";
}

}  // namespace windrow::grammar
