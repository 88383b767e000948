// Variables of a rendering, from JSON.
#pragma once

#include <boost/json/value.hpp>
#include <string_view>

#include "jinja/runtime.h"

namespace windrow::jinja {

// The value of the variable `name`; what RenderOptions::trusted names counts as template text.
Value from_json(Runtime& runtime, const boost::json::value& json, std::string_view name);

}  // namespace windrow::jinja
