// The result of a row of `windrow exec`, as the body of its line in the results (docs/formats.md).
// Pure; any thread.
#pragma once

#include <boost/json/value.hpp>
#include <cstdint>
#include <string>
#include <string_view>

#include "llm/answer.h"

namespace windrow::program {

// What an instance used, of all its calls together.
struct ProgramUsage {
  llm::Usage tokens;
  int64_t calls = 0;
  int64_t passes = 0;         // forward passes with at least one of its rows; 0 for upstreams
  int64_t wasted_tokens = 0;  // computed or sampled by calls that were cancelled or failed
  int64_t contexts_peak = 0;
  int64_t memory_bytes_peak = 0;  // of its Lua state
};

// {"object": "program.result", "program", "result", "usage": {...}, "program_usage": {...}}, one
// line.
std::string result_body(std::string_view program, const boost::json::value& result,
                        const ProgramUsage& usage);

}  // namespace windrow::program
