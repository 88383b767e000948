// The % of strings: "%s has %d" % (name, count).
#pragma once

#include "jinja/runtime.h"

namespace windrow::jinja {

// `values`: a tuple of them, a dict for "%(name)s", or one value.
Value percent_format(Runtime& runtime, const Text& format, const Value& values);

}  // namespace windrow::jinja
