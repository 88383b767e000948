// What dispatch is told of a row. Pure.
#pragma once

#include "batch/row.h"
#include "dispatch/work_item.h"

namespace windrow::batch {

// About what its prompt and its answers cost, the group it goes with, the rows that may go in one
// call with it, and which other rows its answer is also for.
dispatch::WorkItem work_item(const Row& row);

}  // namespace windrow::batch
