// ProgramRows: the rows of a job as instances of one program. It stands where a job has its
// dispatcher: a request's `raw` is the input of an instance, whose result is the answer.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>

#include "dispatch/submitter.h"
#include "program/run/program_loop.h"

namespace windrow::program {

struct ProgramRowsOptions {
  int32_t instances_max = 64;  // that run at a time; more wait in submit()
};

class ProgramRows final : public dispatch::Submitter {
 public:
  // `loop` outlives it.
  ProgramRows(ProgramLoop& loop, ProgramRowsOptions options);

  // As stop_admitting() and cancel_all(), and waits until every Done has returned. Not in a Done.
  ~ProgramRows() override;
  ProgramRows(const ProgramRows&) = delete;
  ProgramRows& operator=(const ProgramRows&) = delete;

  // As Submitter says. The request's `raw` is the row's input, its sampling.seed the seed of the
  // instance. The answer's `raw` is the result (run/program_result.h). A row whose program fails
  // ends with kRequest; one whose models cannot answer any more, with their failure. `item.id` and
  // `expected` have no effect: the calls of the instance are items of their own.
  [[nodiscard]] bool submit(llm::Request request, dispatch::WorkItem item, dispatch::Cost expected,
                            Done done) override;
  void stop_admitting() override;

  // An instance that has begun is in flight: cancel_waiting() ends those that have not.
  void cancel_waiting() override;
  void cancel_all() override;

  int32_t in_flight() const;

 private:
  ProgramLoop& loop_;
  const ProgramRowsOptions options_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
};

}  // namespace windrow::program
