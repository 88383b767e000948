// Random values that a schema may allow: some follow it as far as one pass over it can see, and
// those are changed in one place. Whether a value is valid, the validator says. Pure.
#pragma once

#include <boost/json/value.hpp>

#include "base/random.h"

namespace windrow::keywords {

// `schema` is a part of `root`, whose definitions its references are in.
boost::json::value value_near(const boost::json::value& root, const boost::json::value& schema,
                              Random& random);

// One thing changed: a scalar, an item or a member more or less.
boost::json::value changed(boost::json::value value, Random& random);

}  // namespace windrow::keywords
