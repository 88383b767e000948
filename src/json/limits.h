// The limits of JSON that comes from outside, and of what Windrow writes around it. Depth: every
// parser uses one of the limits here, so that what one part accepts, every part after it can read.
// Memory: a body of a few megabytes may hold millions of values, each many times as large as its
// text, so it is estimated before the text is parsed. Pure; any thread.
#pragma once

#include <cstddef>
#include <string_view>

namespace windrow {

// --- depth ---

// For what comes from outside: lines of an input, bodies of requests, replies of upstreams,
// arguments of tool calls, schemas. Deeper than schemas that people write, and far from what a
// stack holds.
inline constexpr size_t kJsonDepthMax = 128;

// For what Windrow writes around those and reads again: log lines, stored responses, records. A log
// line is the deepest: the arguments of a tool call are 7 levels down in one.
inline constexpr size_t kJsonEnvelopeDepth = 32;
inline constexpr size_t kWrittenJsonDepthMax = kJsonDepthMax + kJsonEnvelopeDepth;

// --- memory ---

// The values that a body may have at most, names of members included: 2,000 texts of 900 token ids
// each fit.
constexpr size_t kJsonValuesMax = 2'000'000;

// An upper bound of the values in `body`, names of members included. Any number for a text that is
// not JSON.
size_t count_json_values(std::string_view body);

// An upper bound of the bytes that parsing takes, besides the text itself.
size_t json_weight(size_t values, size_t body_bytes);

}  // namespace windrow
