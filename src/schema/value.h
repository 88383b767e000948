// Value: a JSON value for the validator. Unlike boost::json::value it keeps every digit of a
// number, has its members sorted by name, and a hash of its meaning, so that comparing large values
// is cheap. Immutable, any thread.
#pragma once

#include <boost/json/value.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "schema/decimal.h"

namespace windrow::schema {

class Value;
struct Member;

using Items = std::vector<Value>;
using Members = std::vector<Member>;  // by name, each name once

// Deeper texts are refused, so that recursion over a value needs a bounded stack.
constexpr int kValueDepthMax = 256;

class Value {
 public:
  using Data = std::variant<std::nullptr_t, bool, Decimal, std::string, Items, Members>;

  Value();  // null
  explicit Value(Data data);

  // kInvalid: `text` is not one JSON value, or no UTF-8. kNoSpace: it is nested deeper than
  // kValueDepthMax. Of members with the same name the last counts.
  static Result<Value> parse(std::string_view text);

  // Nothing if a number is infinite. The caller has checked the depth of `json`.
  static std::optional<Value> from_json(const boost::json::value& json);

  bool is_null() const { return std::holds_alternative<std::nullptr_t>(data_); }
  const bool* if_bool() const { return std::get_if<bool>(&data_); }
  const Decimal* if_number() const { return std::get_if<Decimal>(&data_); }
  const std::string* if_string() const { return std::get_if<std::string>(&data_); }
  const Items* if_array() const { return std::get_if<Items>(&data_); }
  const Members* if_object() const { return std::get_if<Members>(&data_); }

  // Equal for equal values, whatever the order of members and the spelling of numbers.
  uint64_t hash() const { return hash_; }

  // As in JSON Schema: 1 equals 1.0, and the order of members does not matter.
  friend bool operator==(const Value& a, const Value& b);

 private:
  Data data_;
  uint64_t hash_ = 0;
};

struct Member {
  std::string name;
  Value value;

  friend bool operator==(const Member&, const Member&) = default;
};

// Null if there is none.
const Value* find_member(const Members& members, std::string_view name);

// For messages: its kind ("null", "a string", ...), and its JSON, shortened.
std::string_view kind_name(const Value& value);
std::string quote(const Value& value);
std::string quote(std::string_view text);

}  // namespace windrow::schema
