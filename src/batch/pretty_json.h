// JSON that people may read: numbers as they write them (0.5, not 5E-1), and in files a member a
// line.
#pragma once

#include <boost/json/value.hpp>
#include <string>

namespace windrow::batch {

// On one line.
std::string plain_json(const boost::json::value& value);

// Indented, short inner objects and arrays on one line. Ends with a line end.
std::string pretty_json(const boost::json::value& value);

}  // namespace windrow::batch
