#include "schema/value.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/basic_parser_impl.hpp>
#include <boost/json/serialize.hpp>
#include <iterator>
#include <numeric>
#include <utility>

#include "base/ensure.h"
#include "base/hash.h"
#include "base/utf8.h"

namespace windrow::schema {
namespace {

namespace json = boost::json;

constexpr size_t kQuoteBytesMax = 60;

uint64_t mix(uint64_t a, uint64_t b) {
  uint64_t z = (a ^ (b + 0x9E3779B97F4A7C15ULL)) * 0xBF58476D1CE4E5B9ULL;
  return z ^ (z >> 29);
}

uint64_t hash_of(const Value::Data& data) {
  const uint64_t kind = data.index() + 1;
  if (const auto* truth = std::get_if<bool>(&data)) return mix(kind, *truth ? 1 : 0);
  if (const auto* number = std::get_if<Decimal>(&data)) return mix(kind, number->hash());
  if (const auto* text = std::get_if<std::string>(&data)) return hash64(*text, kind);
  uint64_t hash = kind;
  if (const auto* items = std::get_if<Items>(&data)) {
    for (const Value& item : *items)
      hash = mix(hash, item.hash());
  }
  if (const auto* members = std::get_if<Members>(&data)) {
    for (const Member& member : *members)
      hash = mix(hash, hash64(member.name, member.value.hash()));
  }
  return hash;
}

// Sorted, and of one name the last.
Members tidy(Members members) {
  std::vector<size_t> order(members.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    const int names = members[a].name.compare(members[b].name);
    return names != 0 ? names < 0 : a < b;
  });
  Members result;
  result.reserve(members.size());
  for (size_t i = 0; i < order.size(); ++i) {
    const bool last = i + 1 == order.size() || members[order[i]].name != members[order[i + 1]].name;
    if (last) result.push_back(std::move(members[order[i]]));
  }
  return result;
}

// Makes a Value of the events of Boost's parser. A container takes the values put on the stack
// since it began.
class Builder {
 public:
  static constexpr size_t max_object_size = static_cast<size_t>(-1);
  static constexpr size_t max_array_size = static_cast<size_t>(-1);
  static constexpr size_t max_key_size = static_cast<size_t>(-1);
  static constexpr size_t max_string_size = static_cast<size_t>(-1);

  using Code = boost::system::error_code;

  bool on_document_begin(Code&) { return true; }
  bool on_document_end(Code&) { return true; }
  bool on_object_begin(Code&) { return true; }
  bool on_array_begin(Code&) { return true; }
  bool on_comment_part(json::string_view, Code&) { return true; }
  bool on_comment(json::string_view, Code&) { return true; }

  bool on_object_end(size_t count, Code&) {
    Members members;
    members.reserve(count);
    const size_t first_name = names_.size() - count;
    const size_t first_value = values_.size() - count;
    for (size_t i = 0; i < count; ++i)
      members.push_back({std::move(names_[first_name + i]), std::move(values_[first_value + i])});
    names_.resize(first_name);
    values_.resize(first_value);
    return push(tidy(std::move(members)));
  }

  bool on_array_end(size_t count, Code&) {
    const auto first = values_.end() - static_cast<std::ptrdiff_t>(count);
    Items items(std::make_move_iterator(first), std::make_move_iterator(values_.end()));
    values_.erase(first, values_.end());
    return push(std::move(items));
  }

  bool on_key_part(json::string_view text, size_t, Code&) { return add(text); }
  bool on_key(json::string_view text, size_t, Code&) {
    add(text);
    names_.push_back(std::exchange(text_, {}));
    return true;
  }
  bool on_string_part(json::string_view text, size_t, Code&) { return add(text); }
  bool on_string(json::string_view text, size_t, Code&) {
    add(text);
    return push(std::exchange(text_, {}));
  }

  bool on_number_part(json::string_view text, Code&) { return add(text); }
  bool on_int64(int64_t, json::string_view text, Code&) { return number(text); }
  bool on_uint64(uint64_t, json::string_view text, Code&) { return number(text); }
  bool on_double(double, json::string_view text, Code&) { return number(text); }

  bool on_bool(bool truth, Code&) { return push(truth); }
  bool on_null(Code&) { return push(nullptr); }

  Value take() {
    ENSURE(values_.size() == 1, "{} values on the stack", values_.size());
    return std::move(values_.front());
  }

 private:
  bool add(json::string_view text) {
    text_.append(text.data(), text.size());
    return true;
  }

  bool number(json::string_view text) {
    add(text);
    push(Decimal::from_text(text_));
    text_.clear();
    return true;
  }

  bool push(Value::Data data) {
    values_.emplace_back(std::move(data));
    return true;
  }

  std::vector<Value> values_;
  std::vector<std::string> names_;
  std::string text_;  // so far of a name, string or number
};

// JSON of `value`, no longer than somewhat above kQuoteBytesMax.
void write(const Value& value, std::string& out);

void write_text(std::string_view text, std::string& out) {
  const std::string_view part = text.substr(0, kQuoteBytesMax + 1);
  const std::string whole = utf8_repair(part);
  out += json::serialize(json::string_view(whole));
}

void write_items(const Items& items, std::string& out) {
  out += '[';
  for (const Value& item : items) {
    if (&item != items.data()) out += ',';
    if (out.size() > kQuoteBytesMax) break;
    write(item, out);
  }
  out += ']';
}

void write_members(const Members& members, std::string& out) {
  out += '{';
  for (const Member& member : members) {
    if (&member != members.data()) out += ',';
    if (out.size() > kQuoteBytesMax) break;
    write_text(member.name, out);
    out += ':';
    write(member.value, out);
  }
  out += '}';
}

void write(const Value& value, std::string& out) {
  if (value.is_null()) {
    out += "null";
  } else if (const bool* truth = value.if_bool()) {
    out += *truth ? "true" : "false";
  } else if (const Decimal* number = value.if_number()) {
    out += number->to_string();
  } else if (const std::string* text = value.if_string()) {
    write_text(*text, out);
  } else if (const Items* items = value.if_array()) {
    write_items(*items, out);
  } else if (const Members* members = value.if_object()) {
    write_members(*members, out);
  }
}

std::string shortened(std::string text) {
  if (text.size() <= kQuoteBytesMax) return text;
  size_t kept = kQuoteBytesMax;
  kept -= utf8_incomplete_tail(std::string_view(text).substr(0, kept));
  return text.substr(0, kept) + "...";
}

}  // namespace

Value::Value() : Value(Data(nullptr)) {}

Value::Value(Data data) : data_(std::move(data)), hash_(hash_of(data_)) {}

Result<Value> Value::parse(std::string_view text) {
  json::parse_options options;
  options.max_depth = kValueDepthMax;
  json::basic_parser<Builder> parser(options);
  boost::system::error_code error;
  const size_t read = parser.write_some(false, text.data(), text.size(), error);
  if (!error && read < text.size()) error = json::error::extra_data;
  if (error == json::error::too_deep) {
    return Error{
        ErrorKind::kNoSpace,
        fmt::format("nested more than {} deep, which is too deep to be judged", kValueDepthMax)};
  }
  if (error) return Error{ErrorKind::kInvalid, fmt::format("{} at byte {}", error.message(), read)};
  return parser.handler().take();
}

std::optional<Value> Value::from_json(const json::value& value) {
  if (value.is_null()) return Value();
  if (const bool* truth = value.if_bool()) return Value(*truth);
  if (const json::string* text = value.if_string()) return Value(std::string(*text));
  if (const json::array* array = value.if_array()) {
    Items items;
    for (const json::value& one : *array) {
      std::optional<Value> item = from_json(one);
      if (!item) return std::nullopt;
      items.push_back(*std::move(item));
    }
    return Value(std::move(items));
  }
  if (const json::object* object = value.if_object()) {
    Members members;
    for (const json::key_value_pair& one : *object) {
      std::optional<Value> member = from_json(one.value());
      if (!member) return std::nullopt;
      members.push_back({std::string(one.key()), *std::move(member)});
    }
    return Value(tidy(std::move(members)));
  }
  std::optional<Decimal> number = Decimal::from_json(value);
  if (!number) return std::nullopt;
  return Value(*std::move(number));
}

bool operator==(const Value& a, const Value& b) {
  return a.hash_ == b.hash_ && a.data_ == b.data_;
}

const Value* find_member(const Members& members, std::string_view name) {
  const auto found =
      std::lower_bound(members.begin(), members.end(), name,
                       [](const Member& member, std::string_view n) { return member.name < n; });
  return found != members.end() && found->name == name ? &found->value : nullptr;
}

std::string_view kind_name(const Value& value) {
  if (value.is_null()) return "null";
  if (value.if_bool() != nullptr) return "a boolean";
  if (const Decimal* number = value.if_number())
    return number->is_integer() ? "an integer" : "a number";
  if (value.if_string() != nullptr) return "a string";
  return value.if_array() != nullptr ? "an array" : "an object";
}

std::string quote(const Value& value) {
  std::string text;
  write(value, text);
  return shortened(std::move(text));
}

std::string quote(std::string_view text) {
  std::string out;
  write_text(text, out);
  return shortened(std::move(out));
}

}  // namespace windrow::schema
