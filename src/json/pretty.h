// JSON for people: numbers as they are usually written (0.5, not 5E-1). Pure; any thread.
#pragma once

#include <boost/json/value.hpp>
#include <string>

namespace windrow {

// On one line, without a line end.
std::string plain_json(const boost::json::value& value);

// Indented, short inner objects and arrays on one line. Ends with a line end.
std::string pretty_json(const boost::json::value& value);

}  // namespace windrow
