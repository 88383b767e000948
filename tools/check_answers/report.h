// A score as people and as programs read it.
#pragma once

#include <boost/json/object.hpp>
#include <string>

#include "check_answers/score.h"

namespace windrow::check_answers {

// A table with a line for each task, then what is to be said about missing and unknown rows. Ends
// with a line end.
std::string report_text(const Score& score);

// {"tasks": {NAME: {"rows", "right", "percent", "missing", "parts": {NAME: PERCENT}}}, "unknown"}
boost::json::object report_json(const Score& score);

}  // namespace windrow::check_answers
