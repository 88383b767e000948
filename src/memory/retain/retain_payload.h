// The items of a retain in the background, as its operation keeps them. Pure; any thread.
#pragma once

#include <boost/json/object.hpp>
#include <vector>

#include "base/result.h"
#include "memory/retain/retain.h"

namespace windrow::memory {

boost::json::object payload_of(const std::vector<RetainItem>& items);

// kInvalid: it is not what payload_of makes.
Result<std::vector<RetainItem>> retain_items_from(const boost::json::object& payload);

}  // namespace windrow::memory
