#include "jinja/builtins.h"

#include <cmath>

#include "jinja/failure.h"
#include "jinja/function.h"
#include "jinja/number.h"

namespace windrow::jinja {

FilterFunction find_filter(std::string_view name) {
  for (const auto* table :
       {&string_filters(), &number_filters(), &sequence_filters(), &selection_filters()}) {
    for (const FilterEntry& entry : *table) {
      if (entry.name == name) return entry.function;
    }
  }
  return nullptr;
}

// --- filters of numbers, and `default` -----------------------------------------------------------

namespace {

Value abs_filter(Runtime& runtime, const Value& input, Arguments& arguments) {
  const Bound bound(arguments, "abs", {}, 0);
  if (input.is_integral()) {
    const Integer value = input.integral();
    return runtime.integer(value < 0 ? -value : value, input.origin());
  }
  if (!input.is_number()) fail("'abs' needs a number, not '{}'", type_name(input));
  return Value(std::fabs(input.number())).with_origin(input.origin());
}

// A float without its fraction; nothing for NaN.
std::optional<Integer> truncated(double value) {
  if (std::isnan(value)) return std::nullopt;
  if (std::fabs(value) >= 0x1p64) fail("this number is too large for an integer");
  return static_cast<Integer>(value);
}

Value int_filter(Runtime& runtime, const Value& input, Arguments& arguments) {
  const Bound bound(arguments, "int", {"default", "base"}, 0);
  const Value otherwise = bound.has(0) ? bound[0] : Value::integer(int64_t{0});
  if (input.is_undefined()) fail("{}", describe(input.undefined()));
  std::optional<Integer> integer;
  if (input.is_text()) {
    const int64_t base = bound.integer(1, 10);
    if (base >= 0 && base <= 36) {
      integer = parse_integer(input.text()->bytes(), static_cast<int>(base));
    }
    if (!integer) {
      if (const auto number = parse_float(input.text()->bytes())) integer = truncated(*number);
    }
  } else if (input.is_integral()) {
    integer = input.integral();
  } else if (input.is_number()) {
    integer = truncated(input.number());
  }
  return integer ? runtime.integer(*integer, input.origin()) : otherwise;
}

Value float_filter(Runtime&, const Value& input, Arguments& arguments) {
  const Bound bound(arguments, "float", {"default"}, 0);
  if (input.is_undefined()) fail("{}", describe(input.undefined()));
  if (input.is_number()) return Value(to_double(input)).with_origin(input.origin());
  if (input.is_text()) {
    if (const auto number = parse_float(input.text()->bytes())) return Value(*number);
  }
  return bound.has(0) ? bound[0] : Value(0.0);
}

Value round_integer(Runtime& runtime, Integer value, int64_t digits, Origin origin) {
  if (digits >= 0) return Value(value).with_origin(origin);
  if (digits < -20) return Value::integer(int64_t{0});
  Integer unit = 1;
  for (int64_t i = digits; i < 0; ++i)
    unit *= 10;
  Integer rest = value % unit;
  if (rest < 0) rest += unit;
  Integer rounded = value - rest;
  const bool is_odd = (rounded / unit) % 2 != 0;
  if (rest * 2 > unit || (rest * 2 == unit && is_odd)) rounded += unit;
  return runtime.integer(rounded, origin);
}

Value round_filter(Runtime& runtime, const Value& input, Arguments& arguments) {
  const Bound bound(arguments, "round", {"precision", "method"}, 0);
  const std::string method = bound.has(1) ? bound.text(1)->bytes() : "common";
  if (method != "common" && method != "ceil" && method != "floor") {
    fail("'round' knows the methods common, ceil and floor");
  }
  if (!input.is_number()) {
    if (input.is_undefined()) fail("{}", describe(input.undefined()));
    fail("'round' needs a number, not '{}'", type_name(input));
  }
  const int64_t digits = bound.integer(0, 0);
  if (method == "common") {
    if (input.is_integral())
      return round_integer(runtime, input.integral(), digits, input.origin());
    return Value(round_half_even(input.number(), digits)).with_origin(input.origin());
  }
  const double power = std::pow(10.0, static_cast<double>(digits));
  const double scaled = to_double(input) * power;
  if (!std::isfinite(scaled) || !std::isfinite(power)) fail("this number cannot be rounded");
  return Value((method == "ceil" ? std::ceil(scaled) : std::floor(scaled)) / power + 0.0)
      .with_origin(input.origin());
}

Value default_filter(Runtime& runtime, const Value& input, Arguments& arguments) {
  const Bound bound(arguments, "default", {"default_value", "boolean"}, 0);
  if (!input.is_undefined() && !(bound.flag(1, false) && !truth(input))) return input;
  return bound.has(0) ? bound[0] : runtime.text("");
}

}  // namespace

const std::vector<FilterEntry>& number_filters() {
  static const std::vector<FilterEntry> kFilters = {
      {"default", default_filter}, {"d", default_filter},   {"int", int_filter},
      {"float", float_filter},     {"round", round_filter}, {"abs", abs_filter},
  };
  return kFilters;
}

}  // namespace windrow::jinja
