// Submitter: where the requests of a job go: a dispatcher that is the job's alone (`windrow run`),
// or a share of one that others use too (scoped_submitter.h).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "dispatch/budget.h"
#include "dispatch/work_item.h"
#include "llm/answer.h"
#include "llm/backend.h"
#include "llm/request.h"

namespace windrow::dispatch {

enum class OutcomeSource : uint8_t {
  kAsked,   // it was sent, or ended before
  kShared,  // an equal request was sent at the same time
  kCached,  // it was answered in an earlier run, or earlier in this one
};

struct DispatchResult {
  llm::Outcome outcome;
  // Sendings of the request, or of the equal one whose outcome it shares; 0: it was cached.
  int32_t attempts = 1;

  // What all of them used and cost, as far as it was told; a shared answer costs its first asker
  // alone, and one from the cache nobody.
  int64_t tokens = 0;
  Cost cost = 0;

  // Why the last but one failed; empty where there was one.
  std::string earlier_failure;

  OutcomeSource source = OutcomeSource::kAsked;
};

// What a request is asked with, beside the question: the same for every call made for it. The
// members are those of llm::BackendCall.
struct Delivery {
  std::shared_ptr<llm::StreamSink> listener = nullptr;
  std::shared_ptr<llm::AnswerShare> answer_share = nullptr;
  std::shared_ptr<llm::LoadWait> load_wait = nullptr;
};

// Thread-safe. What it concerns is what was submitted through it.
class Submitter {
 public:
  // Called exactly once per accepted request, on whatever thread.
  using Done = std::function<void(DispatchResult)>;

  virtual ~Submitter() = default;

  // Blocks while as many are unfinished as may be. False, and nothing happens to the request, once
  // admission has stopped: also for those who were waiting. `item` says what policies want to know;
  // its id is set here. `expected` is what the request will cost at most, where costs are limited.
  [[nodiscard]] virtual bool submit(llm::Request request, WorkItem item, Cost expected,
                                    Done done) = 0;

  // submit answers false from now on; what is in flight goes on.
  virtual void stop_admitting() = 0;

  // End with kCancelled what has not started, or everything. Any thread, also from within a Done.
  virtual void cancel_waiting() = 0;
  virtual void cancel_all() = 0;
};

}  // namespace windrow::dispatch
