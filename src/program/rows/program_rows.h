// ProgramRows: the rows of a job as instances of one program. It stands where a job has its
// dispatcher: a request's `raw` is the input of an instance, whose result is the answer.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

#include "base/clock.h"
#include "dispatch/submitter.h"
#include "program/run/program_loop.h"

namespace windrow::program {

struct ProgramRowsOptions {
  int32_t instances_max = 64;  // that run at a time; more wait in submit()
  std::string model;           // ProgramStart::model of all instances
};

class ProgramRows final : public dispatch::Submitter {
 public:
  // `loop` and `clock` outlive it.
  ProgramRows(ProgramLoop& loop, const Clock& clock, ProgramRowsOptions options);

  // As stop_admitting() and cancel_all(), and waits until every Done has returned. Not in a Done.
  ~ProgramRows() override;
  ProgramRows(const ProgramRows&) = delete;
  ProgramRows& operator=(const ProgramRows&) = delete;

  // As Submitter says, of a row of batch::RowForm::kInputs: `raw` of the request is its input,
  // sampling.seed its seed, and `model` its name, ProgramStart::id. The answer's `raw` is the
  // result (run/program_result.h), its decode_ms the time of the instance. A row whose program
  // fails ends with kRequest; one whose models cannot answer any more, with their failure. `item`
  // and `expected` have no effect: the calls of the instance are items of their own.
  [[nodiscard]] bool submit(llm::Request request, dispatch::WorkItem item, dispatch::Cost expected,
                            Done done) override;
  void stop_admitting() override;

  // An instance runs as soon as it is accepted, so none is waiting.
  void cancel_waiting() override {}
  void cancel_all() override;

  int32_t in_flight() const;

 private:
  // An instance that has not ended.
  struct Live {
    std::optional<InstanceId> id;  // absent: it is just being started
    bool cancelled = false;
  };

  void ended(uint64_t serial);

  ProgramLoop& loop_;
  const Clock& clock_;
  const ProgramRowsOptions options_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  boost::unordered_flat_map<uint64_t, Live> live_;  // by serial number
  uint64_t submitted_ = 0;
  bool admitting_ = true;
};

}  // namespace windrow::program
