#include "jinja/attributes.h"

#include <algorithm>
#include <limits>

#include "jinja/builtins.h"
#include "jinja/failure.h"
#include "jinja/function.h"
#include "jinja/iterables.h"
#include "jinja/number.h"
#include "jinja/runtime.h"
#include "jinja/text_functions.h"

namespace windrow::jinja {
namespace {

// obj[index] as in Python, without Jinja2's fallback to attributes.
bool find_item(Runtime& runtime, const Value& object, const Value& index, Value& value) {
  switch (object.kind()) {
    case Value::Kind::kDict: {
      if (!is_hashable(index)) return false;
      const Value* found = object.dict().find(index);
      if (found != nullptr) value = *found;
      return found != nullptr;
    }
    case Value::Kind::kList:
    case Value::Kind::kText: {
      if (!index.is_integral()) return false;
      const int64_t length = length_of(object);
      int64_t at = to_index(index, "an index");
      if (at < 0) at += length;
      if (at < 0 || at >= length) return false;
      if (object.is_list_or_tuple()) {
        value = object.list().items()[static_cast<size_t>(at)];
      } else {
        const TextPtr& text = object.text();
        if (text->length() != text->bytes().size()) runtime.budget.spend(text->bytes().size() / 16);
        const size_t begin = text->position_of(static_cast<size_t>(at));
        size_t end = begin + 1;
        const std::string& bytes = text->bytes();
        while (end < bytes.size() && (static_cast<uint8_t>(bytes[end]) & 0xC0) == 0x80)
          ++end;
        value = Value(part_of(runtime, text, begin, end));
      }
      return true;
    }
    case Value::Kind::kObject:
      return object.object().item(runtime, index, value);
    default:
      return false;
  }
}

[[noreturn]] void refuse_undefined(const Value& object) {
  fail("{}", describe(object.undefined()));
}

int64_t clamp_bound(const Value& bound, int64_t otherwise, int64_t length, int64_t step) {
  if (bound.is_none()) return otherwise;
  int64_t at = to_index(bound, "a slice index");
  if (at < 0) {
    at = at < -length ? -1 : at + length;
    if (at < 0) return step < 0 ? -1 : 0;
    return at;
  }
  return std::min(at, step < 0 ? length - 1 : length);
}

}  // namespace

bool find_attribute(Runtime& runtime, const Value& object, const TextPtr& name, Value& value) {
  const std::string& wanted = name->bytes();
  if (object.is(Value::Kind::kObject)) return object.object().attribute(runtime, wanted, value);
  if (object.is_list_or_tuple() && object.list().kind() == ListKind::kGroup) {
    if (wanted == "grouper" || wanted == "list") {
      value = object.list().items()[wanted == "list" ? 1 : 0];
      return true;
    }
  }
  if (is_hidden_method(object, wanted)) {
    value = Value(Undefined{.name = name, .of = type_name(object), .unsafe = true});
    return true;
  }
  const auto [method, shown] = find_method(object, wanted);
  if (method == nullptr) return false;
  value = Value(runtime.make<Method>(object, shown, method));
  return true;
}

Value get_attribute(Runtime& runtime, const Value& object, const TextPtr& name) {
  if (object.is_undefined()) refuse_undefined(object);
  Value value;
  if (find_attribute(runtime, object, name, value)) return value;
  if (object.is_dict()) {
    if (const Value* found = object.dict().find(std::string_view(name->bytes()))) return *found;
  }
  return Value(Undefined{.name = name, .of = type_name(object)});
}

Value get_item(Runtime& runtime, const Value& object, const Value& index) {
  if (object.is_undefined()) refuse_undefined(object);
  Value value;
  if (find_item(runtime, object, index, value)) return value;
  if (index.is_text()) {
    if (find_attribute(runtime, object, index.text(), value)) return value;
    return Value(Undefined{.name = index.text(), .of = type_name(object)});
  }
  return Value(Undefined{.of = type_name(object)});
}

Value get_slice(Runtime& runtime, const Value& object, const Value& start, const Value& stop,
                const Value& step_value) {
  if (object.is_undefined()) refuse_undefined(object);
  auto* range = object.as<Range>();
  if (!object.is_text() && !object.is_list_or_tuple() && range == nullptr) {
    fail("'{}' object cannot be sliced", type_name(object));
  }
  const int64_t step = step_value.is_none() ? 1 : to_index(step_value, "a slice step");
  if (step == 0) fail("the step of a slice must not be zero");
  const int64_t length = length_of(object);
  const bool back = step < 0;
  const int64_t from = clamp_bound(start, back ? length - 1 : 0, length, step);
  const int64_t to = clamp_bound(stop, back ? -1 : length, length, step);
  int64_t count = 0;
  if (back ? from > to : from < to) {
    const uint64_t distance = static_cast<uint64_t>(back ? from - to : to - from) - 1;
    const uint64_t stride = back ? ~static_cast<uint64_t>(step) + 1 : static_cast<uint64_t>(step);
    count = static_cast<int64_t>(distance / stride) + 1;
  }
  const auto index_at = [&](int64_t i) {
    return static_cast<size_t>(from + i * (count > 1 ? step : 0));
  };
  if (range != nullptr) return range->part(runtime, from, step, count);
  if (object.is_list_or_tuple()) {
    std::vector<Value> items;
    items.reserve(static_cast<size_t>(count));
    for (int64_t i = 0; i < count; ++i)
      items.push_back(object.list().items()[index_at(i)]);
    return runtime.list(std::move(items),
                        object.list().is_tuple() ? ListKind::kTuple : ListKind::kList,
                        object.list().origin());
  }
  const TextPtr& text = object.text();
  runtime.budget.spend(1 + text->bytes().size() / 16);
  if (count == 0) return Value(part_of(runtime, text, 0, 0));
  if (step == 1) {
    const size_t begin = text->position_of(static_cast<size_t>(from));
    return Value(part_of(runtime, text, begin, text->position_of(static_cast<size_t>(to))));
  }
  // Positions of all characters, since they are taken one by one.
  std::vector<size_t> positions;
  positions.reserve(text->length() + 1);
  const std::string& bytes = text->bytes();
  for (size_t at = 0; at < bytes.size(); ++at) {
    if ((static_cast<uint8_t>(bytes[at]) & 0xC0) != 0x80) positions.push_back(at);
  }
  positions.push_back(bytes.size());
  runtime.budget.spend(static_cast<uint64_t>(count));
  TextBuilder out(runtime.budget);
  out.set_markup(text->markup());
  for (int64_t i = 0; i < count; ++i) {
    out.append(*text, positions[index_at(i)], positions[index_at(i) + 1]);
  }
  return Value(out.finish());
}

AttributePath::AttributePath(const Value& attribute, const Value* otherwise) {
  if (otherwise != nullptr && !otherwise->is_none()) {
    otherwise_ = *otherwise;
    has_otherwise_ = true;
  }
  if (attribute.is_none()) return;
  if (!attribute.is_text()) {
    parts_.push_back(attribute);
    return;
  }
  const std::string& path = attribute.text()->bytes();
  for (size_t begin = 0; begin <= path.size();) {
    const size_t end = std::min(path.find('.', begin), path.size());
    const std::string part = path.substr(begin, end - begin);
    const bool is_index =
        !part.empty() && part.find_first_not_of("0123456789") == std::string::npos;
    const auto index = is_index ? parse_integer(part, 10) : std::nullopt;
    parts_.push_back(index ? Value(*index)
                           : Value(std::make_shared<const Text>(part, Origin::kTemplate)));
    begin = end + 1;
  }
}

Value AttributePath::of(Runtime& runtime, const Value& item) const {
  Value found = item;
  for (const Value& part : parts_) {
    found = get_item(runtime, found, part);
    if (has_otherwise_ && found.is_undefined()) found = otherwise_;
  }
  return found;
}

}  // namespace windrow::jinja
