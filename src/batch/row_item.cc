#include "batch/row_item.h"

#include "dispatch/work_item.h"

namespace windrow::batch {

dispatch::WorkItem work_item(const Row& row) {
  dispatch::WorkItem item = dispatch::request_item(row.request, row.bytes, row.question);
  item.group = row.group;
  return item;
}

}  // namespace windrow::batch
