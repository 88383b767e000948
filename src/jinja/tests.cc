#include "jinja/builtins.h"

#include <algorithm>
#include <array>

#include "jinja/failure.h"
#include "jinja/function.h"
#include "jinja/iterables.h"
#include "jinja/number.h"
#include "jinja/runtime.h"
#include "jinja/text_functions.h"

namespace windrow::jinja {
namespace {

void no_arguments(const Arguments& arguments) {
  const Bound bound(arguments, "this test", {}, 0);
}

template <bool (*is_so)(const Value&)>
bool simple(Runtime&, const Value& subject, Arguments& arguments) {
  no_arguments(arguments);
  return is_so(subject);
}

bool is_defined(const Value& v) {
  return !v.is_undefined();
}
bool is_undefined(const Value& v) {
  return v.is_undefined();
}
bool is_none(const Value& v) {
  return v.is_none();
}
bool is_boolean(const Value& v) {
  return v.is(Value::Kind::kBool);
}
bool is_true(const Value& v) {
  return is_boolean(v) && v.boolean();
}
bool is_false(const Value& v) {
  return is_boolean(v) && !v.boolean();
}
bool is_integer(const Value& v) {
  return v.is(Value::Kind::kInteger);
}
bool is_float(const Value& v) {
  return v.is(Value::Kind::kFloat);
}
bool is_number(const Value& v) {
  return v.is_number();
}
bool is_string(const Value& v) {
  return v.is_text();
}
bool is_mapping(const Value& v) {
  return v.is_dict();
}
bool is_escaped(const Value& v) {
  return v.is_text() && v.text()->markup();
}
// Undefined has the method of a call, which fails; that is enough for Python.
bool is_callable(const Value& v) {
  return v.is_undefined() || (v.is(Value::Kind::kObject) && v.object().callable());
}

// Whether the value has a length and items. In Jinja2 an undefined value pretends to have them.
bool is_sequence(const Value& v) {
  return v.is_text() || v.is_list_or_tuple() || v.is_dict() || v.is_undefined() ||
         (v.is(Value::Kind::kObject) && v.object().is_sequence());
}

bool is_iterable(Runtime& runtime, const Value& subject, Arguments& arguments) {
  no_arguments(arguments);
  if (!subject.is(Value::Kind::kObject)) {
    return subject.is_text() || subject.is_list_or_tuple() || subject.is_dict() ||
           subject.is_undefined();
  }
  return subject.object().iterate(runtime) != nullptr;
}

template <bool upper>
bool test_case(Runtime& runtime, const Value& subject, Arguments& arguments) {
  no_arguments(arguments);
  const TextPtr text = to_text(runtime, subject);
  runtime.budget.spend(text->bytes().size() / 4);
  return is_all_case(*text, upper);
}

bool modulo_is(Runtime& runtime, const Value& subject, const Value& divisor, int64_t rest) {
  const Value found = binary(runtime, Operator::kModulo, subject, divisor);
  return runtime.equal(found, Value::integer(rest));
}

bool is_odd(Runtime& runtime, const Value& subject, Arguments& arguments) {
  no_arguments(arguments);
  return modulo_is(runtime, subject, Value::integer(int64_t{2}), 1);
}

bool is_even(Runtime& runtime, const Value& subject, Arguments& arguments) {
  no_arguments(arguments);
  return modulo_is(runtime, subject, Value::integer(int64_t{2}), 0);
}

bool is_divisible_by(Runtime& runtime, const Value& subject, Arguments& arguments) {
  const Bound bound(arguments, "divisibleby", {"num"}, 1);
  return modulo_is(runtime, subject, bound[0], 0);
}

enum class Relation : uint8_t { kEqual, kUnequal, kLess, kLessOrEqual, kGreater, kGreaterOrEqual };

template <Relation relation>
bool compares(Runtime& runtime, const Value& a, Arguments& arguments) {
  const Bound bound(arguments, "a comparison", {""}, 1);
  const Value& b = bound[0];
  const bool numbers = a.is_number() && b.is_number();
  switch (relation) {
    case Relation::kEqual:
      return runtime.equal(a, b);
    case Relation::kUnequal:
      return !runtime.equal(a, b);
    case Relation::kLess:
      return runtime.is_less(a, b);
    case Relation::kGreater:
      return runtime.is_less(b, a);
    case Relation::kLessOrEqual:
      return numbers ? compare_numbers(a, b) <= 0 : runtime.is_less(a, b) || runtime.equal(a, b);
    case Relation::kGreaterOrEqual:
      return numbers ? compare_numbers(b, a) <= 0 : runtime.is_less(b, a) || runtime.equal(a, b);
  }
  return false;
}

bool is_in(Runtime& runtime, const Value& subject, Arguments& arguments) {
  const Bound bound(arguments, "in", {"seq"}, 1);
  return contains(runtime, bound[0], subject);
}

// Python's `is`. Small values are one object there, and so they are here.
bool same_as(Runtime& runtime, const Value& subject, Arguments& arguments) {
  const Bound bound(arguments, "sameas", {"other"}, 1);
  const Value& other = bound[0];
  if (subject.kind() != other.kind()) return false;
  if (subject.is_list_or_tuple()) return subject.list_ptr() == other.list_ptr();
  if (subject.is_dict()) return subject.dict_ptr() == other.dict_ptr();
  return runtime.equal(subject, other);
}

// Empty, which is no name, for a value that is not a string.
std::string name_in(const Value& subject) {
  if (!is_hashable(subject)) fail("unhashable type: '{}'", type_name(subject));
  return subject.is_text() ? subject.text()->bytes() : "";
}

bool is_filter(Runtime&, const Value& subject, Arguments& arguments) {
  no_arguments(arguments);
  return find_filter(name_in(subject)) != nullptr;
}

bool is_test(Runtime&, const Value& subject, Arguments& arguments) {
  no_arguments(arguments);
  return find_test(name_in(subject)) != nullptr;
}

struct TestEntry {
  std::string_view name;
  TestFunction function;
};

constexpr std::array kTests = std::to_array<TestEntry>({
    {"defined", simple<is_defined>},
    {"undefined", simple<is_undefined>},
    {"none", simple<is_none>},
    {"string", simple<is_string>},
    {"mapping", simple<is_mapping>},
    {"iterable", is_iterable},
    {"sequence", simple<is_sequence>},
    {"boolean", simple<is_boolean>},
    {"true", simple<is_true>},
    {"false", simple<is_false>},
    {"integer", simple<is_integer>},
    {"float", simple<is_float>},
    {"number", simple<is_number>},
    {"callable", simple<is_callable>},
    {"escaped", simple<is_escaped>},
    {"odd", is_odd},
    {"even", is_even},
    {"divisibleby", is_divisible_by},
    {"lower", test_case<false>},
    {"upper", test_case<true>},
    {"in", is_in},
    {"sameas", same_as},
    {"filter", is_filter},
    {"test", is_test},
    {"==", compares<Relation::kEqual>},
    {"eq", compares<Relation::kEqual>},
    {"equalto", compares<Relation::kEqual>},
    {"!=", compares<Relation::kUnequal>},
    {"ne", compares<Relation::kUnequal>},
    {"<", compares<Relation::kLess>},
    {"lt", compares<Relation::kLess>},
    {"lessthan", compares<Relation::kLess>},
    {"<=", compares<Relation::kLessOrEqual>},
    {"le", compares<Relation::kLessOrEqual>},
    {">", compares<Relation::kGreater>},
    {"gt", compares<Relation::kGreater>},
    {"greaterthan", compares<Relation::kGreater>},
    {">=", compares<Relation::kGreaterOrEqual>},
    {"ge", compares<Relation::kGreaterOrEqual>},
});

}  // namespace

TestFunction find_test(std::string_view name) {
  const auto* found = std::find_if(kTests.begin(), kTests.end(),
                                   [&](const TestEntry& entry) { return entry.name == name; });
  return found == kTests.end() ? nullptr : found->function;
}

}  // namespace windrow::jinja
