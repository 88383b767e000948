// Formatting as in Python: str.format, %, and the fields in both. Functions throw Failure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "jinja/runtime.h"
#include "jinja/text.h"

namespace windrow::jinja {

// format.format(*arguments).
TextPtr string_format(Runtime& runtime, const Text& format, const Arguments& arguments);

// format % values: "%s has %d" % (name, count). `values` is a tuple, a dict for "%(name)s", or one
// value.
Value percent_format(Runtime& runtime, const Text& format, const Value& values);

// How a value is written in a field: what follows the colon in str.format, or lies between "%" and
// its letter.
struct FormatSpec {
  std::string fill = " ";  // one character
  char align = '\0';       // '<', '>', '^', '=' or none
  char sign = '-';         // '+', ' ' or '-'
  bool alternate = false;  // 0x before hexadecimal digits
  bool zero = false;
  int64_t width = 0;
  char separator = '\0';  // between groups of thousands: ',' or '_'
  int64_t precision = -1;
  char type = '\0';
};

// "[[fill]align][sign][#][0][width][,][.precision][type]"; fails for anything else.
FormatSpec parse_format_spec(std::string_view text);

// The digits of a number in a field; `spec.type` is one of bcdoxXneEfFgG% or none.
std::string format_integer(Integer value, const FormatSpec& spec);
std::string format_float(double value, const FormatSpec& spec);

// Appends `value` as format(value, spec) does.
void append_formatted(Runtime& runtime, TextBuilder& out, const Value& value,
                      const FormatSpec& spec);

// Appends a text cut to the precision and padded to the width.
void append_padded(Runtime& runtime, TextBuilder& out, const TextPtr& text, const FormatSpec& spec,
                   char default_align);

}  // namespace windrow::jinja
