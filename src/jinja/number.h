// Numbers and operators with the semantics of Python. Functions throw Failure where Python raises.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "jinja/value.h"

namespace windrow::jinja {

// -1, 0 or 1; 2 if one of them is NaN. Exact between integers and floats.
int compare_numbers(const Value& a, const Value& b);

double to_double(const Value& number);  // a bool, integer or float

std::string integer_text(Integer value);
std::string float_text(double value);  // repr: the shortest that reads back the same

// int(text, base) and float(text); nothing if Python raises ValueError. Fails if the integer is out
// of range.
std::optional<Integer> parse_integer(std::string_view text, int base);
std::optional<double> parse_float(std::string_view text);

// An index or a count; fails for anything but an integer, and clamps to int64.
int64_t to_index(const Value& value, std::string_view what);

enum class Operator : uint8_t {
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kFloorDivide,
  kModulo,
  kPower
};

// a op b for all types that Python has it for: sums, repetition, formatting.
Value binary(Runtime& runtime, Operator op, const Value& a, const Value& b);
Value negate(Runtime& runtime, const Value& value);
Value positive(Runtime& runtime, const Value& value);

// round(value, digits) of a float: half to even, on the decimal digits.
double round_half_even(double value, int64_t digits);

}  // namespace windrow::jinja
