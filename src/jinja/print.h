// How values become text: Python's str and repr.
#pragma once

#include "jinja/runtime.h"

namespace windrow::jinja {

// str(value). A text comes back as it is, and undefined is empty.
TextPtr to_text(Runtime& runtime, const Value& value);
void append_text(Runtime& runtime, TextBuilder& out, const Value& value);

// repr(value).
void append_repr(Runtime& runtime, TextBuilder& out, const Value& value);

}  // namespace windrow::jinja
