// JSON becomes variables of a rendering, and values become JSON, as Python's json.dumps writes it.
// Used by the thread of the Runtime.
#pragma once

#include <boost/json/value.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "jinja/runtime.h"

namespace windrow::jinja {

// The value of the variable `name`. Texts that RenderOptions::trusted names get the template's
// origin.
Value from_json(Runtime& runtime, const boost::json::value& json, std::string_view name);

struct JsonStyle {
  std::optional<std::string> indent;  // nothing: one line
  std::string item_separator = ", ";
  std::string key_separator = ": ";
  bool ensure_ascii = false;
  bool sort_keys = false;
};

// Fails for values that JSON does not have.
TextPtr to_json(Runtime& runtime, const Value& value, const JsonStyle& style);

}  // namespace windrow::jinja
