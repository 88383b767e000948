// The order in which a grammar lets the members of a value be written, if it has one. Used by one
// thread.
#pragma once

#include <boost/json/value.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "grammar/matcher.h"

namespace windrow::keywords {

// A compact text of the value that the grammar accepts, with the members of each object in some
// order: those of `names` in any, and behind them the others in their own. The value's own order is
// tried first. Gives up after so many tries of a member.
std::optional<std::string> accepted_text(const grammar::Matcher& start,
                                         const boost::json::value& value,
                                         std::span<const std::string_view> names,
                                         int tries_max = 10'000);

}  // namespace windrow::keywords
