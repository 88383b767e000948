// Values as text: Python's str and repr.
#pragma once

#include "jinja/runtime.h"

namespace windrow::jinja {

// str(value). A text is returned as it is; undefined becomes the empty text.
TextPtr to_text(Runtime& runtime, const Value& value);
void append_text(Runtime& runtime, TextBuilder& out, const Value& value);

// repr(value).
void append_repr(Runtime& runtime, TextBuilder& out, const Value& value);

}  // namespace windrow::jinja
