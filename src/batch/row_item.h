// The dispatcher's view of a row. Pure.
#pragma once

#include "batch/row.h"
#include "dispatch/work_item.h"

namespace windrow::batch {

// The estimated cost of its prompt and answers, its group, which rows may be packed into one call
// with it, and which rows share its answer.
dispatch::WorkItem work_item(const Row& row);

}  // namespace windrow::batch
