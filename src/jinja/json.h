// Variables of a rendering, from JSON.
#pragma once

#include <boost/json/value.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "jinja/runtime.h"

namespace windrow::jinja {

// The value of the variable `name`; what RenderOptions::trusted names counts as template text.
Value from_json(Runtime& runtime, const boost::json::value& json, std::string_view name);

// Values as JSON, as Python's json.dumps writes it.

struct JsonStyle {
  std::optional<std::string> indent;  // none: one line
  std::string item_separator = ", ";
  std::string key_separator = ": ";
  bool ensure_ascii = false;
  bool sort_keys = false;
};

// Fails for what JSON does not have.
TextPtr to_json(Runtime& runtime, const Value& value, const JsonStyle& style);

}  // namespace windrow::jinja
