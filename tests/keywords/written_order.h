// The order in which a grammar lets the members of a value be written, if it has one. Used by one
// thread.
#pragma once

#include <boost/json/value.hpp>
#include <optional>
#include <string>

#include "grammar/matcher.h"

namespace windrow::keywords {

// A compact text of the value that the grammar accepts, with the members of each object in some
// order; the value's own is tried first. Gives up after so many tries of a member.
std::optional<std::string> accepted_text(const grammar::Matcher& start,
                                         const boost::json::value& value, int tries_max = 3'000);

}  // namespace windrow::keywords
