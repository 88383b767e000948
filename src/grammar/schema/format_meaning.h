// What a `format` restricts. Pure, any thread.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <string_view>

#include "grammar/schema/schema_node.h"

namespace windrow::grammar {

// The effect of a `format`.
struct FormatMeaning {
  enum class Use : uint8_t {
    kTexts,         // strings are texts of format_dfa()
    kIntegers,      // integers are between `min` and `max`
    kNothing,       // known, and allows everything here
    kNeedsInteger,  // a format of integers, but other types are allowed
    kUnknown,
  };

  Use use = Use::kNothing;
  std::string_view min;  // decimal
  std::string_view max;
};

// `types`: the types that `object`, the schema with this format, allows.
FormatMeaning format_meaning(std::string_view name, Types types, const boost::json::object& object);

}  // namespace windrow::grammar
