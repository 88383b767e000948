// HTML escapes, as markupsafe writes them.
#pragma once

#include "jinja/text.h"

namespace windrow::jinja {

void append_escaped(TextBuilder& out, const Text& text);

}  // namespace windrow::jinja
