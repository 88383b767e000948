#include "batches/expired_rows.h"

namespace windrow::batches {

bool ExpiredRows::submit(llm::Request /*request*/, dispatch::WorkItem /*item*/,
                         dispatch::Cost /*expected*/, Done done) {
  if (stopped_) return false;
  done({.outcome = llm::Failure{.status = 0,  // nobody was asked
                                .code = "batch_expired",
                                .message = "This request could not be executed before the "
                                           "completion window expired."},
        .attempts = 0});
  return true;
}

}  // namespace windrow::batches
