#include "jinja/value.h"

#include <cmath>
#include <functional>
#include <limits>

#include "jinja/failure.h"
#include "jinja/number.h"

namespace windrow::jinja {
namespace {

constexpr size_t kSmallDict = 12;  // searched without slots

size_t slot_count(size_t entries) {
  size_t count = 32;
  while (count < entries * 2)
    count *= 2;
  return count;
}

}  // namespace

Dict::Dict(std::vector<Entry> entries, Origin origin, Extent extent)
    : entries_(std::move(entries)), extent_(extent), origin_(origin) {
  if (entries_.size() <= kSmallDict) return;
  slots_.assign(slot_count(entries_.size()), 0);
  for (size_t i = 0; i < entries_.size(); ++i) {
    size_t slot = hash_of(entries_[i].first) & (slots_.size() - 1);
    while (slots_[slot] != 0)
      slot = (slot + 1) & (slots_.size() - 1);
    slots_[slot] = static_cast<uint32_t>(i + 1);
  }
}

const Value* Dict::find(const Value& key) const {
  if (slots_.empty()) {
    for (const Entry& entry : entries_) {
      if (equals(entry.first, key)) return &entry.second;
    }
    return nullptr;
  }
  size_t slot = hash_of(key) & (slots_.size() - 1);
  for (; slots_[slot] != 0; slot = (slot + 1) & (slots_.size() - 1)) {
    const Entry& entry = entries_[slots_[slot] - 1];
    if (equals(entry.first, key)) return &entry.second;
  }
  return nullptr;
}

const Value* Dict::find(std::string_view key) const {
  if (slots_.empty()) {
    for (const Entry& entry : entries_) {
      if (entry.first.is_text() && entry.first.text()->bytes() == key) return &entry.second;
    }
    return nullptr;
  }
  return find(Value(std::make_shared<const Text>(std::string(key), Origin::kTemplate)));
}

void Object::print(Runtime&, TextBuilder& out) {
  out.append(fmt::format("<{} object>", type_name()), Origin::kTemplate);
}
bool Object::attribute(Runtime&, std::string_view, Value&) {
  return false;
}
Value Object::call(Runtime&, Arguments&) {
  fail("'{}' object is not callable", type_name());
}
std::unique_ptr<Iterator> Object::iterate(Runtime&) {
  return nullptr;
}

const char* type_name(const Value& value) {
  switch (value.kind()) {
    case Value::Kind::kUndefined:
      return "Undefined";
    case Value::Kind::kNone:
      return "NoneType";
    case Value::Kind::kBool:
      return "bool";
    case Value::Kind::kInteger:
      return "int";
    case Value::Kind::kFloat:
      return "float";
    case Value::Kind::kText:
      return value.text()->markup() ? "Markup" : "str";
    case Value::Kind::kList:
      return value.list().is_tuple() ? "tuple" : "list";
    case Value::Kind::kDict:
      return "dict";
    case Value::Kind::kObject:
      return value.object().type_name();
  }
  return "object";
}

Extent extent_of(const Value& value) {
  if (value.is_text()) return {0, 1 + value.text()->bytes().size() / 16};
  if (value.is_list_or_tuple()) return value.list().extent();
  if (value.is_dict()) return value.dict().extent();
  return {};
}

bool truth(const Value& value) {
  switch (value.kind()) {
    case Value::Kind::kUndefined:
    case Value::Kind::kNone:
      return false;
    case Value::Kind::kBool:
    case Value::Kind::kInteger:
      return value.integral() != 0;
    case Value::Kind::kFloat:
      return value.number() != 0.0;
    case Value::Kind::kText:
      return !value.text()->empty();
    case Value::Kind::kList:
      return !value.list().items().empty();
    case Value::Kind::kDict:
      return !value.dict().entries().empty();
    case Value::Kind::kObject:
      return value.object().truth();
  }
  return false;
}

bool equals(const Value& a, const Value& b) {
  if (a.is_number() && b.is_number()) return compare_numbers(a, b) == 0;
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case Value::Kind::kUndefined:
    case Value::Kind::kNone:
      return true;
    case Value::Kind::kText:
      return a.text() == b.text() || a.text()->bytes() == b.text()->bytes();
    case Value::Kind::kList: {
      const auto& x = a.list().items();
      const auto& y = b.list().items();
      if (a.list().is_tuple() != b.list().is_tuple() || x.size() != y.size()) return false;
      for (size_t i = 0; i < x.size(); ++i) {
        if (!equals(x[i], y[i])) return false;
      }
      return true;
    }
    case Value::Kind::kDict: {
      if (a.dict().entries().size() != b.dict().entries().size()) return false;
      for (const auto& [key, value] : a.dict().entries()) {
        const Value* other = b.dict().find(key);
        if (other == nullptr || !equals(value, *other)) return false;
      }
      return true;
    }
    default:
      return a.is(Value::Kind::kObject) && &a.object() == &b.object();
  }
}

bool is_hashable(const Value& value) {
  if (value.is_dict()) return false;
  if (!value.is_list_or_tuple()) return true;
  if (!value.list().is_tuple()) return false;
  for (const Value& item : value.list().items()) {
    if (!is_hashable(item)) return false;
  }
  return true;
}

uint64_t hash_of(const Value& value) {
  switch (value.kind()) {
    case Value::Kind::kBool:
    case Value::Kind::kInteger:
    case Value::Kind::kFloat:
      // Equal numbers of different types are the same key; doubles are close enough to tell apart.
      return std::hash<double>()(
          value.is(Value::Kind::kFloat) ? value.number() : static_cast<double>(value.integral()));
    case Value::Kind::kText:
      return std::hash<std::string>()(value.text()->bytes());
    case Value::Kind::kList: {
      uint64_t hash = 0x345678;
      for (const Value& item : value.list().items())
        hash = hash * 1000003 ^ hash_of(item);
      return hash;
    }
    case Value::Kind::kObject:
      return std::hash<const void*>()(&value.object());
    default:
      return 1;
  }
}

bool less(const Value& a, const Value& b) {
  if (a.is_number() && b.is_number()) return compare_numbers(a, b) == -1;
  if (a.is_text() && b.is_text()) return a.text()->bytes() < b.text()->bytes();
  if (a.is_list_or_tuple() && b.is_list_or_tuple() && a.list().is_tuple() == b.list().is_tuple()) {
    const auto& x = a.list().items();
    const auto& y = b.list().items();
    for (size_t i = 0; i < x.size() && i < y.size(); ++i) {
      if (!equals(x[i], y[i])) return less(x[i], y[i]);
    }
    return x.size() < y.size();
  }
  for (const Value* side : {&a, &b}) {
    if (side->is_undefined()) fail("{}", describe(side->undefined()));
  }
  fail("'<' is not supported between '{}' and '{}'", type_name(a), type_name(b));
}

std::string describe(const Undefined& undefined) {
  const std::string_view name =
      undefined.name ? std::string_view(undefined.name->bytes()) : std::string_view("a value");
  if (undefined.unsafe) {
    return fmt::format("'{}' of '{}' may not be used in a template", name, undefined.of);
  }
  if (undefined.of != nullptr) {
    return fmt::format("'{}' object has no attribute '{}'", undefined.of, name);
  }
  return fmt::format("'{}' is undefined", name);
}

}  // namespace windrow::jinja
