// ExpiredRows: a Submitter in the place of the models of a batch whose time is over. Every row that
// has no result yet gets one that says so.
#pragma once

#include <atomic>
#include <utility>

#include "dispatch/submitter.h"

namespace windrow::batches {

class ExpiredRows final : public dispatch::Submitter {
 public:
  bool submit(llm::Request, dispatch::WorkItem, dispatch::Cost, Done done) override {
    if (stopped_) return false;
    done({.outcome =
              llm::Failure{.status = 0,  // nobody was asked
                           .code = "batch_expired",
                           .message = "This request could not be executed before the completion "
                                      "window expired."},
          .attempts = 0});
    return true;
  }

  void stop_admitting() override { stopped_ = true; }
  void cancel_waiting() override {}
  void cancel_all() override {}

 private:
  std::atomic<bool> stopped_ = false;
};

}  // namespace windrow::batches
