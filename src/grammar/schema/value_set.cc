#include "grammar/schema/value_set.h"

#include <algorithm>
#include <optional>

#include "grammar/schema/decimal.h"
#include "grammar/schema/json_values.h"

namespace windrow::grammar {
namespace {

namespace json = boost::json;

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

std::optional<std::string> value_key(const json::value& value) {
  std::string key;
  if (!add_key(value, key)) return std::nullopt;
  return key;
}

}  // namespace

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
