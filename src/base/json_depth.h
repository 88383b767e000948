// How deep JSON may be nested, everywhere: what one part accepts, every part behind it can read.
#pragma once

#include <cstddef>

namespace windrow {

// What comes from outside: lines of an input, bodies of requests, replies of servers elsewhere,
// arguments of calls, schemas. Deeper than any schema that people write, and far from what a stack
// holds.
inline constexpr size_t kJsonDepthMax = 128;

// What Windrow itself writes around it and reads again: lines of logs, what is kept of responses,
// records. A line of a log is the deepest: arguments of a call are 7 levels down in one.
inline constexpr size_t kJsonEnvelopeDepth = 32;
inline constexpr size_t kWrittenJsonDepthMax = kJsonDepthMax + kJsonEnvelopeDepth;

}  // namespace windrow
