// BadClient: a connection that does what no good client does. Each ends by itself, in seconds.
#pragma once

#include <cstdint>
#include <string>

#include "base/random.h"

namespace windrow::load {

enum class Mischief : uint8_t {
  kLeavesWhileWaiting,  // asks for a long answer and is gone
  kLeavesMidStream,     // reads a little of it
  kReadsNothing,        // of a stream, for a while
  kHalfARequest,        // and waits, and is gone
  kSlowly,              // a byte at a time, for a while
  kGarbage,
  kHugeBody,    // says 100 MB and sends them, as far as they are taken
  kPipelines,   // many requests at once, and leaves before the answers
  kHalfClosed,  // sends its request, closes its side, and reads
};

inline constexpr int kMischiefs = 9;

// A reply that a server must not give, or nothing.
std::string misbehave(Mischief mischief, uint16_t port, Random& random);

}  // namespace windrow::load
