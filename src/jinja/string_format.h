// str.format.
#pragma once

#include "jinja/runtime.h"

namespace windrow::jinja {

TextPtr string_format(Runtime& runtime, const Text& format, const Arguments& arguments);

}  // namespace windrow::jinja
