#include "jinja/runtime.h"

#include <algorithm>

#include "jinja/failure.h"
#include "jinja/number.h"
#include "jinja/text_functions.h"
#include "jinja/unicode.h"

namespace windrow::jinja {
namespace {

// A step stands for 16 bytes.
constexpr uint64_t kStepsOfAValue = sizeof(Value) / 16;

class ListIterator final : public Iterator {
 public:
  explicit ListIterator(ListPtr list) : list_(std::move(list)) {}
  bool next(Value& value) override {
    if (at_ == list_->items().size()) return false;
    value = list_->items()[at_++];
    return true;
  }

 private:
  ListPtr list_;
  size_t at_ = 0;
};

class KeyIterator final : public Iterator {
 public:
  explicit KeyIterator(DictPtr dict) : dict_(std::move(dict)) {}
  bool next(Value& value) override {
    if (at_ == dict_->entries().size()) return false;
    value = dict_->entries()[at_++].first;
    return true;
  }

 private:
  DictPtr dict_;
  size_t at_ = 0;
};

class CharacterIterator final : public Iterator {
 public:
  CharacterIterator(Runtime& runtime, TextPtr text) : runtime_(runtime), text_(std::move(text)) {}
  bool next(Value& value) override {
    const std::string& bytes = text_->bytes();
    if (at_ >= bytes.size()) return false;
    size_t end = at_ + 1;
    while (end < bytes.size() && (static_cast<uint8_t>(bytes[end]) & 0xC0) == 0x80)
      ++end;
    TextBuilder builder(runtime_.budget);
    builder.append(*text_, at_, end);
    value = Value(builder.finish());
    at_ = end;
    return true;
  }

 private:
  Runtime& runtime_;
  TextPtr text_;
  size_t at_ = 0;
};

class NoIterator final : public Iterator {
 public:
  bool next(Value&) override { return false; }
};

void add(Extent& extent, const Value& part) {
  const Extent inner = extent_of(part);
  extent.depth = std::max(extent.depth, inner.depth + 1);
  extent.weight += inner.weight;
}

void check(const Budget& budget, const Limits& limits, const Extent& extent) {
  if (extent.depth > budget.depth_max()) {
    throw Failure{Failure::Kind::kLimit,
                  fmt::format("lists within lists, more than {} deep", budget.depth_max())};
  }
  if (extent.weight > limits.operations_max) {
    throw Failure{Failure::Kind::kLimit, "a list too large to go over"};
  }
}

std::string print_escaped(char32_t c) {
  switch (c) {
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    default:
      if (c < 0x100) return fmt::format("\\x{:02x}", static_cast<uint32_t>(c));
      if (c < 0x10000) return fmt::format("\\u{:04x}", static_cast<uint32_t>(c));
      return fmt::format("\\U{:08x}", static_cast<uint32_t>(c));
  }
}

void append_quoted(TextBuilder& out, const Text& text) {
  const std::string& bytes = text.bytes();
  const bool has_single = bytes.find('\'') != std::string::npos;
  const char quote = has_single && bytes.find('"') == std::string::npos ? '"' : '\'';
  // The quotes get the origin of the text.
  const Origin first = text.origin_at(0);
  const Origin last = bytes.empty() ? first : text.origin_at(bytes.size() - 1);
  out.append(std::string_view(&quote, 1), first);
  size_t plain = 0;
  for (size_t at = 0; at < bytes.size();) {
    const size_t begin = at;
    const char32_t c = next_character(bytes, at);
    const bool needs_backslash = c == '\\' || c == static_cast<char32_t>(quote);
    if (!needs_backslash && is_printable(c)) continue;
    out.append(text, plain, begin);
    const Origin origin = text.origin_at(begin);
    if (needs_backslash) {
      out.append("\\", origin);
      out.append(text, begin, at);
    } else {
      out.append(print_escaped(c), origin);
    }
    plain = at;
  }
  out.append(text, plain, bytes.size());
  out.append(std::string_view(&quote, 1), last);
}

void append_list(Runtime& runtime, TextBuilder& out, const List& list) {
  const Origin origin = list.origin();
  out.append(list.is_tuple() ? "(" : "[", origin);
  bool first = true;
  for (const Value& item : list.items()) {
    if (!first) out.append(", ", origin);
    first = false;
    append_repr(runtime, out, item);
  }
  if (list.is_tuple() && list.items().size() == 1) out.append(",", origin);
  out.append(list.is_tuple() ? ")" : "]", origin);
}

void append_dict(Runtime& runtime, TextBuilder& out, const Dict& dict) {
  const Origin origin = dict.origin();
  out.append("{", origin);
  bool first = true;
  for (const auto& [key, value] : dict.entries()) {
    if (!first) out.append(", ", origin);
    first = false;
    append_repr(runtime, out, key);
    out.append(": ", origin);
    append_repr(runtime, out, value);
  }
  out.append("}", origin);
}

}  // namespace

Runtime::~Runtime() {
  // Objects hold values that name other objects, never their owners: any order will do.
  objects_.clear();
}

Value Runtime::text(std::string_view bytes, Origin origin) {
  budget.spend_text(bytes.size(), bytes.size());
  return Value(std::make_shared<const Text>(std::string(bytes), origin));
}

Value Runtime::list(std::vector<Value> items, ListKind kind, Origin origin) {
  budget.spend(1 + items.size() * kStepsOfAValue);
  Extent extent{1, 1};
  for (const Value& item : items)
    add(extent, item);
  check(budget, options.limits, extent);
  return Value(std::make_shared<const List>(std::move(items), kind, origin, extent));
}

Value Runtime::dict(std::vector<Dict::Entry> entries, Origin origin) {
  budget.spend(1 + entries.size() * 2 * kStepsOfAValue);
  Extent extent{1, 1};
  for (const auto& [key, value] : entries) {
    if (!is_hashable(key)) fail("unhashable type: '{}'", type_name(key));
    add(extent, key);
    add(extent, value);
  }
  check(budget, options.limits, extent);
  budget.spend(extent.weight / 4);
  const auto hashes_less = [](const std::pair<uint64_t, size_t>& a,
                              const std::pair<uint64_t, size_t>& b) { return a < b; };
  std::vector<std::pair<uint64_t, size_t>> order;
  order.reserve(entries.size());
  for (size_t i = 0; i < entries.size(); ++i)
    order.emplace_back(hash_of(entries[i].first), i);
  std::sort(order.begin(), order.end(), hashes_less);
  std::vector<bool> dropped(entries.size());
  bool any = false;
  for (size_t i = 0; i < order.size(); ++i) {
    const size_t first = order[i].second;
    for (size_t j = i + 1; j < order.size() && order[j].first == order[i].first; ++j) {
      budget.spend(1);
      const size_t other = order[j].second;
      if (dropped[first] || dropped[other]) continue;
      if (equals(entries[first].first, entries[other].first)) {
        entries[first].second = entries[other].second;
        dropped[other] = any = true;
      }
    }
  }
  if (any) {
    size_t kept = 0;
    for (size_t i = 0; i < entries.size(); ++i) {
      if (dropped[i]) continue;
      if (kept != i) entries[kept] = std::move(entries[i]);
      ++kept;
    }
    entries.resize(kept);
  }
  return Value(std::make_shared<const Dict>(std::move(entries), origin, extent));
}

Value Runtime::integer(Integer value, Origin origin) {
  if (value > std::numeric_limits<uint64_t>::max() || value < std::numeric_limits<int64_t>::min()) {
    fail("the result has more than 64 bits");
  }
  return Value(value).with_origin(origin);
}

void Runtime::check_defined(const Value& value) const {
  if (options.undefined_fails && value.is_undefined()) fail("{}", describe(value.undefined()));
}

std::unique_ptr<Iterator> Runtime::iterate(const Value& value) {
  check_defined(value);
  switch (value.kind()) {
    case Value::Kind::kUndefined:
      return std::make_unique<NoIterator>();
    case Value::Kind::kText:
      return std::make_unique<CharacterIterator>(*this, value.text());
    case Value::Kind::kList:
      return std::make_unique<ListIterator>(value.list_ptr());
    case Value::Kind::kDict:
      return std::make_unique<KeyIterator>(value.dict_ptr());
    case Value::Kind::kObject:
      if (auto iterator = value.object().iterate(*this)) return iterator;
      break;
    default:
      break;
  }
  fail("'{}' object is not iterable", type_name(value));
}

std::vector<Value> Runtime::collect(const Value& value) {
  if (value.is_list_or_tuple()) {
    budget.spend(value.list().items().size() * kStepsOfAValue);
    return value.list().items();
  }
  std::vector<Value> items;
  const auto iterator = iterate(value);
  for (Value item; iterator->next(item);) {
    budget.spend(kStepsOfAValue);
    items.push_back(std::move(item));
  }
  return items;
}

bool Runtime::equal(const Value& a, const Value& b) {
  budget.spend(std::min(extent_of(a).weight, extent_of(b).weight));
  return equals(a, b);
}

bool Runtime::is_less(const Value& a, const Value& b) {
  budget.spend(std::min(extent_of(a).weight, extent_of(b).weight));
  return less(a, b);
}

Value Runtime::call(const Value& callable, Arguments& arguments) {
  if (callable.is_undefined()) fail("{}", describe(callable.undefined()));
  if (!callable.is(Value::Kind::kObject) || !callable.object().callable()) {
    fail("'{}' object is not callable", type_name(callable));
  }
  budget.spend(4);
  return callable.object().call(*this, arguments);
}

int64_t length_of(const Value& value) {
  switch (value.kind()) {
    case Value::Kind::kUndefined:
      return 0;
    case Value::Kind::kText:
      return static_cast<int64_t>(value.text()->length());
    case Value::Kind::kList:
      return static_cast<int64_t>(value.list().items().size());
    case Value::Kind::kDict:
      return static_cast<int64_t>(value.dict().entries().size());
    case Value::Kind::kObject:
      if (value.object().has_length()) return value.object().length();
      break;
    default:
      break;
  }
  fail("object of type '{}' has no length", type_name(value));
}

bool contains(Runtime& runtime, const Value& container, const Value& value) {
  if (container.is_text()) {
    if (!value.is_text()) {
      fail("'in <string>' requires a string on its left, not '{}'", type_name(value));
    }
    runtime.budget.spend(1 + container.text()->bytes().size() / 16);
    return find_text(container.text()->bytes(), value.text()->bytes()) != std::string::npos;
  }
  if (container.is_dict()) {
    if (!is_hashable(value)) fail("unhashable type: '{}'", type_name(value));
    runtime.budget.spend(extent_of(value).weight);
    return container.dict().find(value) != nullptr;
  }
  const auto iterator = runtime.iterate(container);
  for (Value item; iterator->next(item);) {
    if (runtime.equal(item, value)) return true;
  }
  return false;
}

void append_repr(Runtime& runtime, TextBuilder& out, const Value& value) {
  runtime.budget.check_stack();
  runtime.budget.spend(1);
  switch (value.kind()) {
    case Value::Kind::kUndefined:
      return out.append("Undefined", Origin::kTemplate);
    case Value::Kind::kNone:
      return out.append("None", value.origin());
    case Value::Kind::kBool:
      return out.append(value.boolean() ? "True" : "False", value.origin());
    case Value::Kind::kInteger:
      return out.append(integer_text(value.integral()), value.origin());
    case Value::Kind::kFloat:
      return out.append(float_text(value.number()), value.origin());
    case Value::Kind::kText: {
      if (!value.text()->markup()) return append_quoted(out, *value.text());
      out.append("Markup(", Origin::kTemplate);
      append_quoted(out, *value.text());
      return out.append(")", Origin::kTemplate);
    }
    case Value::Kind::kList:
      return append_list(runtime, out, value.list());
    case Value::Kind::kDict:
      return append_dict(runtime, out, value.dict());
    case Value::Kind::kObject:
      return value.object().print(runtime, out);
  }
}

void append_text(Runtime& runtime, TextBuilder& out, const Value& value) {
  if (value.is_text()) {
    out.append(*value.text());
    return;
  }
  runtime.check_defined(value);
  if (!value.is_undefined()) append_repr(runtime, out, value);
}

TextPtr to_text(Runtime& runtime, const Value& value) {
  if (value.is_text()) return value.text();
  TextBuilder out(runtime.budget);
  append_text(runtime, out, value);
  return out.finish();
}

}  // namespace windrow::jinja
