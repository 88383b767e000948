// For tests: values with their members in the order in which a schema declares them, which is the
// order a grammar writes them in. Knows nothing of how the grammar is made.
#pragma once

#include <boost/json/value.hpp>
#include <string>
#include <vector>

namespace windrow::grammar::testing {

boost::json::value in_definition_order(const boost::json::value& schema,
                                       const boost::json::value& value);

// The compact texts of all orders of all objects of the value, but at most so many.
std::vector<std::string> texts_in_any_order(const boost::json::value& value, size_t texts_max);

}  // namespace windrow::grammar::testing
