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
  // How often it was sent, or the equal request whose outcome it shares; 0: it was cached.
  int32_t attempts = 1;

  // What all attempts used and cost, as far as it is known. A shared answer costs the request that
  // was sent; the others and answers from the cache cost nothing.
  int64_t tokens = 0;
  Cost cost = 0;

  // Why the last but one failed; empty where there was one.
  std::string earlier_failure;

  OutcomeSource source = OutcomeSource::kAsked;
};

// What belongs to a request beside the question, for every call that is made for it. The members
// are those of llm::BackendCall.
struct Delivery {
  std::shared_ptr<llm::StreamSink> listener = nullptr;
  std::shared_ptr<llm::ReplySink> reply_sink = nullptr;  // beside it there is no listener
  std::shared_ptr<llm::AnswerShare> answer_share = nullptr;
  std::shared_ptr<llm::LoadWait> load_wait = nullptr;

  // llm::BackendCall::trace_tag. Of items that share an answer or a call, the first one's counts.
  uint64_t trace_tag = 0;
};

// Thread-safe. Every method concerns the requests that were submitted through this object.
class Submitter {
 public:
  // Called exactly once per accepted request, without a lock, on a thread of a backend's or on one
  // that submits or cancels; perhaps before submit has returned. It may not block on this object.
  using Done = std::function<void(DispatchResult)>;

  virtual ~Submitter() = default;

  // Blocks while as many are unfinished as may be. False, and nothing happens to the request, once
  // admission has stopped, also while it blocks. `item` is what policies need to know of it;
  // its id is set here. `expected` is what the request will cost at most, where costs are limited.
  [[nodiscard]] virtual bool submit(llm::Request request, WorkItem item, Cost expected,
                                    Done done) = 0;

  // submit returns false from now on; requests in flight go on.
  virtual void stop_admitting() = 0;

  // End with kCancelled what has not started, or everything. They do not block; any thread, also
  // from within a Done.
  virtual void cancel_waiting() = 0;
  virtual void cancel_all() = 0;
};

}  // namespace windrow::dispatch
