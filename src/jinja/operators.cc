// a + b and its kin, with all that Python gives them.
#include <cmath>
#include <limits>

#include "jinja/escape.h"
#include "jinja/failure.h"
#include "jinja/number.h"
#include "jinja/percent_format.h"
#include "jinja/print.h"
#include "jinja/runtime.h"

namespace windrow::jinja {
namespace {

constexpr const char* kSymbols[] = {"+", "-", "*", "/", "//", "%", "**"};

[[noreturn]] void refuse(Operator op, const Value& a, const Value& b) {
  for (const Value* side : {&a, &b}) {
    if (side->is_undefined()) fail("{}", describe(side->undefined()));
  }
  fail("'{}' is not possible between '{}' and '{}'", kSymbols[static_cast<size_t>(op)],
       type_name(a), type_name(b));
}

Origin origin_of(const Value& a, const Value& b) {
  return a.origin() == Origin::kInput || b.origin() == Origin::kInput ? Origin::kInput
                                                                      : Origin::kTemplate;
}

Integer floor_divide(Integer a, Integer b) {
  const Integer quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

double float_modulo(double a, double b) {
  double rest = std::fmod(a, b);
  if (rest != 0) {
    if ((b < 0) != (rest < 0)) rest += b;
  } else {
    rest = std::copysign(0.0, b);
  }
  return rest;
}

double float_floor_divide(double a, double b) {
  const double rest = float_modulo(a, b);
  const double quotient = (a - rest) / b;
  if (quotient == 0) return std::copysign(0.0, a / b);
  const double floor = std::floor(quotient);
  return quotient - floor > 0.5 ? floor + 1 : floor;
}

Value integer_power(Runtime& runtime, Integer base, Integer exponent, Origin origin) {
  if (exponent < 0) {
    if (base == 0) fail("zero cannot be raised to a negative power");
    return Value(std::pow(static_cast<double>(base), static_cast<double>(exponent)))
        .with_origin(origin);
  }
  if (base == 0 || base == 1) return Value(exponent == 0 ? Integer{1} : base).with_origin(origin);
  if (base == -1) return Value(exponent % 2 == 0 ? Integer{1} : base).with_origin(origin);
  if (exponent > 64) fail("the result has more than 64 bits");
  Integer result = 1;
  for (Integer i = 0; i < exponent; ++i) {
    if (__builtin_mul_overflow(result, base, &result)) fail("the result has more than 64 bits");
  }
  return runtime.integer(result, origin);
}

Value integer_operation(Runtime& runtime, Operator op, Integer a, Integer b, Origin origin) {
  const bool divides =
      op == Operator::kDivide || op == Operator::kFloorDivide || op == Operator::kModulo;
  if (divides && b == 0) fail("division by zero");
  Integer result = 0;
  switch (op) {
    case Operator::kAdd:
      result = a + b;
      break;
    case Operator::kSubtract:
      result = a - b;
      break;
    case Operator::kMultiply:
      if (__builtin_mul_overflow(a, b, &result)) fail("the result has more than 64 bits");
      break;
    case Operator::kDivide:
      return Value(static_cast<double>(static_cast<long double>(a) / static_cast<long double>(b)))
          .with_origin(origin);
    case Operator::kFloorDivide:
      result = floor_divide(a, b);
      break;
    case Operator::kModulo:
      result = a - floor_divide(a, b) * b;
      break;
    case Operator::kPower:
      return integer_power(runtime, a, b, origin);
  }
  return runtime.integer(result, origin);
}

double float_operation(Operator op, double a, double b) {
  const bool divides =
      op == Operator::kDivide || op == Operator::kFloorDivide || op == Operator::kModulo;
  if (divides && b == 0) fail("division by zero");
  switch (op) {
    case Operator::kAdd:
      return a + b;
    case Operator::kSubtract:
      return a - b;
    case Operator::kMultiply:
      return a * b;
    case Operator::kDivide:
      return a / b;
    case Operator::kFloorDivide:
      return float_floor_divide(a, b);
    case Operator::kModulo:
      return float_modulo(a, b);
    case Operator::kPower:
      break;
  }
  if (a == 0 && b < 0) fail("zero cannot be raised to a negative power");
  const double result = std::pow(a, b);
  if (std::isnan(result) && !std::isnan(a) && !std::isnan(b)) {
    fail("the result of this power is no real number");
  }
  if (std::isinf(result) && std::isfinite(a) && std::isfinite(b)) fail("the result is too large");
  return result;
}

Value add_texts(Runtime& runtime, const TextPtr& a, const TextPtr& b) {
  const bool markup = a->markup() || b->markup();
  TextBuilder out(runtime.budget);
  for (const TextPtr& part : {a, b}) {
    if (markup && !part->markup()) {
      append_escaped(out, *part);
    } else {
      out.append(*part);
    }
  }
  out.set_markup(markup);
  return Value(out.finish());
}

Value repeat(Runtime& runtime, const Value& sequence, const Value& times) {
  const int64_t count = std::max<int64_t>(0, to_index(times, "a count"));
  if (sequence.is_text()) {
    const Text& text = *sequence.text();
    TextBuilder out(runtime.budget);
    out.set_markup(text.markup());
    for (int64_t i = 0; i < count && !text.empty(); ++i)
      out.append(text);
    return Value(out.finish());
  }
  std::vector<Value> items;
  const auto& source = sequence.list().items();
  for (int64_t i = 0; i < count && !source.empty(); ++i) {
    runtime.budget.spend(source.size() * 3);
    items.insert(items.end(), source.begin(), source.end());
  }
  return runtime.list(std::move(items),
                      sequence.list().is_tuple() ? ListKind::kTuple : ListKind::kList);
}

Value add_lists(Runtime& runtime, const List& a, const List& b) {
  runtime.budget.spend((a.items().size() + b.items().size()) * 3);
  std::vector<Value> items = a.items();
  items.insert(items.end(), b.items().begin(), b.items().end());
  const bool input = a.origin() == Origin::kInput || b.origin() == Origin::kInput;
  return runtime.list(std::move(items), a.is_tuple() ? ListKind::kTuple : ListKind::kList,
                      input ? Origin::kInput : Origin::kTemplate);
}

}  // namespace

Value binary(Runtime& runtime, Operator op, const Value& a, const Value& b) {
  if (a.is_number() && b.is_number()) {
    const Origin origin = origin_of(a, b);
    if (a.is_integral() && b.is_integral()) {
      return integer_operation(runtime, op, a.integral(), b.integral(), origin);
    }
    return Value(float_operation(op, to_double(a), to_double(b))).with_origin(origin);
  }
  const auto is_sequence = [](const Value& v) { return v.is_text() || v.is_list_or_tuple(); };
  if (op == Operator::kAdd) {
    if (a.is_text() && b.is_text()) return add_texts(runtime, a.text(), b.text());
    if (a.is_list_or_tuple() && b.is_list_or_tuple() &&
        a.list().is_tuple() == b.list().is_tuple()) {
      return add_lists(runtime, a.list(), b.list());
    }
  } else if (op == Operator::kMultiply) {
    if (is_sequence(a) && b.is_integral()) return repeat(runtime, a, b);
    if (a.is_integral() && is_sequence(b)) return repeat(runtime, b, a);
  } else if (op == Operator::kModulo && a.is_text()) {
    return percent_format(runtime, *a.text(), b);
  }
  refuse(op, a, b);
}

Value negate(Runtime& runtime, const Value& value) {
  if (value.is_integral()) return runtime.integer(-value.integral(), value.origin());
  if (value.is(Value::Kind::kFloat)) return Value(-value.number()).with_origin(value.origin());
  if (value.is_undefined()) fail("{}", describe(value.undefined()));
  fail("'-' is not possible before '{}'", type_name(value));
}

Value positive(Runtime& runtime, const Value& value) {
  if (value.is_integral()) return runtime.integer(value.integral(), value.origin());
  if (value.is(Value::Kind::kFloat)) return value;
  if (value.is_undefined()) fail("{}", describe(value.undefined()));
  fail("'+' is not possible before '{}'", type_name(value));
}

}  // namespace windrow::jinja
