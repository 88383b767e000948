// ExpiredRows: a Submitter in the place of the models of a batch whose time is over. Every row that
// has no result yet gets one that says so.
#pragma once

#include <atomic>

#include "dispatch/submitter.h"

namespace windrow::batches {

class ExpiredRows final : public dispatch::Submitter {
 public:
  bool submit(llm::Request request, dispatch::WorkItem item, dispatch::Cost expected,
              Done done) override;
  void stop_admitting() override { stopped_ = true; }
  void cancel_waiting() override {}
  void cancel_all() override {}

 private:
  std::atomic<bool> stopped_ = false;
};

}  // namespace windrow::batches
