// The result of a row of `windrow exec`, as the body of its line in the results (docs/formats.md).
// Pure; any thread.
#pragma once

#include <boost/json/value.hpp>
#include <string>
#include <string_view>

#include "program/program_usage.h"

namespace windrow::program {

// {"object": "program.result", "program", "result", "usage": {...}, "program_usage": {...}}, one
// line.
std::string result_body(std::string_view program, const boost::json::value& result,
                        const ProgramUsage& usage);

}  // namespace windrow::program
