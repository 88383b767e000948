// Values as JSON, as Python's json.dumps writes it.
#pragma once

#include <optional>
#include <string>

#include "jinja/runtime.h"

namespace windrow::jinja {

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
