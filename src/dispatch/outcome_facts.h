// What the scheduler needs to know of an outcome. Pure.
#pragma once

#include "dispatch/dispatch_policy.h"
#include "llm/answer.h"

namespace windrow::dispatch {

CallEnd facts_of(const llm::Outcome& outcome);

}  // namespace windrow::dispatch
