// What a `format` demands where it stands. Pure.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <string_view>

#include "grammar/schema/schema_node.h"

namespace windrow::grammar {

struct FormatMeaning {
  enum class Use : uint8_t {
    kTexts,         // strings are texts of format_dfa()
    kIntegers,      // integers are between `min` and `max`
    kNothing,       // known to allow everything here
    kNeedsInteger,  // one of integers, beside other types
    kUnknown,
  };

  Use use = Use::kNothing;
  std::string_view min;  // decimal
  std::string_view max;
};

// `types`: those that the object of the schema allows; `object`: all of it.
FormatMeaning format_meaning(std::string_view name, Types types, const boost::json::object& object);

}  // namespace windrow::grammar
