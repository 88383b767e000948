// JSON Schemas of a model's answers, in the form that is held to ("strict"): all members are
// required, and there are no others. Pure; any thread.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <cstdint>
#include <optional>

namespace windrow::memory {

boost::json::object closed_object(boost::json::object properties);
boost::json::object text_schema();
boost::json::object one_of(boost::json::array values);  // texts
boost::json::object list_schema(boost::json::object items,
                                std::optional<int64_t> items_max = std::nullopt);

}  // namespace windrow::memory
