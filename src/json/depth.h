// The depth to which JSON may be nested. Every parser uses one of these limits, so that what one
// part accepts, every part after it can read.
#pragma once

#include <cstddef>

namespace windrow {

// Of what comes from outside: lines of an input, bodies of requests, replies of upstreams,
// arguments of tool calls, schemas. Deeper than schemas that people write, and far from what a
// stack holds.
inline constexpr size_t kJsonDepthMax = 128;

// Of what Windrow writes around those and reads again: log lines, stored responses, records. A log
// line is the deepest: the arguments of a tool call are 7 levels down in one.
inline constexpr size_t kJsonEnvelopeDepth = 32;
inline constexpr size_t kWrittenJsonDepthMax = kJsonDepthMax + kJsonEnvelopeDepth;

}  // namespace windrow
