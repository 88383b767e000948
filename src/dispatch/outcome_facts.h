// What the scheduler needs to know of an outcome. Pure.
#pragma once

#include "dispatch/scheduler.h"
#include "llm/answer.h"

namespace windrow::dispatch {

CallEnd facts_of(const llm::Outcome& outcome);

}  // namespace windrow::dispatch
