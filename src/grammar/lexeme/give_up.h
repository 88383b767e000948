// GiveUp: how long work asks whether it is to end.
#pragma once

#include <functional>

#include "base/result.h"

namespace windrow::grammar {

// Called regularly by long work, which ends with an error once it returns true: a deadline in
// production, a count in tests.
using GiveUp = std::function<bool()>;

// kUnavailable: `give_up` returned true. It may be empty: then nothing ends the work.
inline Result<void> ask(const GiveUp& give_up) {
  if (!give_up || !give_up()) return {};
  return Error{ErrorKind::kUnavailable, "working out the schema took too long"};
}

}  // namespace windrow::grammar
