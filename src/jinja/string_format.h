// Formatting of strings as in Python: str.format and %. Functions throw Failure.
#pragma once

#include "jinja/runtime.h"

namespace windrow::jinja {

// format.format(*arguments).
TextPtr string_format(Runtime& runtime, const Text& format, const Arguments& arguments);

// format % values: "%s has %d" % (name, count). `values` is a tuple, a dict for "%(name)s", or one
// value.
Value percent_format(Runtime& runtime, const Text& format, const Value& values);

}  // namespace windrow::jinja
