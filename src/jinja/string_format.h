// str.format.
#pragma once

#include "jinja/runtime.h"

namespace windrow::jinja {

TextPtr string_format(Runtime& runtime, const Text& format, const Arguments& arguments);

// The % of strings: "%s has %d" % (name, count).

// `values`: a tuple of them, a dict for "%(name)s", or one value.
Value percent_format(Runtime& runtime, const Text& format, const Value& values);

}  // namespace windrow::jinja
