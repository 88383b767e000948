#include "grammar/schema/json_values.h"

#include <fmt/format.h>

#include <algorithm>

#include "grammar/schema/number_rules.h"

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

// --- sets of values ------------------------------------------------------------------------------

namespace {

// One text for all values that are the same: members by name. False for what is the same as
// nothing, since it has a number that is not handled.
bool add_key(const json::value& value, std::string& key) {
  if (value.is_number()) {
    const auto number = Decimal::of(value);
    if (number) key += number->text();
    return number.has_value();
  }
  if (const json::array* array = value.if_array()) {
    key += '[';
    for (const json::value& item : *array) {
      if (!add_key(item, key)) return false;
      key += ',';
    }
    key += ']';
    return true;
  }
  if (const json::object* object = value.if_object()) {
    std::vector<const json::key_value_pair*> members;
    for (const json::key_value_pair& member : *object)
      members.push_back(&member);
    std::ranges::sort(members, {}, [](const auto* member) { return member->key(); });
    key += '{';
    for (const json::key_value_pair* member : members) {
      key += json_quoted(member->key()) + ":";
      if (!add_key(member->value(), key)) return false;
      key += ',';
    }
    key += '}';
    return true;
  }
  key += compact_json(value);
  return true;
}

}  // namespace

std::optional<std::string> value_key(const json::value& value) {
  std::string key;
  if (!add_key(value, key)) return std::nullopt;
  return key;
}

bool has_equal_items(const json::array& array) {
  std::unordered_set<std::string> keys;
  return std::ranges::any_of(array, [&](const json::value& item) {
    auto key = value_key(item);
    return key && !keys.insert(*std::move(key)).second;
  });
}

ValueSet::ValueSet(const std::vector<const json::value*>& values) {
  for (const json::value* value : values) {
    if (auto key = value_key(*value)) keys_.insert(*std::move(key));
  }
}

bool ValueSet::contains(const json::value& value) const {
  const auto key = value_key(value);
  return key && keys_.contains(*key);
}

bool ValueSet::has_common(const ValueSet& other) const {
  if (keys_.size() > other.keys_.size()) return other.has_common(*this);
  return std::ranges::any_of(keys_,
                             [&](const std::string& key) { return other.keys_.contains(key); });
}

void ValueSet::keep_common(std::vector<const json::value*>& values) const {
  std::erase_if(values, [&](const json::value* value) { return !contains(*value); });
}

}  // namespace windrow::grammar
