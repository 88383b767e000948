// Keywords that cannot be enforced, in forms that need not be. Pure.
#pragma once

#include <boost/json/object.hpp>
#include <string_view>

namespace windrow::grammar {

// Whether `keyword` with this value, beside its siblings, allows everything.
bool constrains_nothing(std::string_view keyword, const boost::json::value& value,
                        const boost::json::object& siblings);

}  // namespace windrow::grammar
