// EmbeddingBatch: decides which inputs go into the next pass. Pure: it counts tokens and never sees
// one.
//
// A pass has inputs without padding, as many as the budget takes; the inputs of one work may be
// spread over passes. Inputs of similar length are not grouped: without padding that gains nothing.
// Works go by priority; of one priority the oldest work gets half of a pass, and the rest goes to
// the works with the least left (SRPT, Schrage, 1968), so that a single text does not wait for
// another client's two thousand, and those still progress.
//
// Invariants:
//  * Each input is in one pass, and in another only after that one failed.
//  * A pass has at most as many inputs and tokens as the budget, which is never more than
//    inputs_max and batch_tokens_max; an input longer than the budget goes alone.
//  * Inputs of a failed pass go again, each alone, before all others.
//  * Inputs of one work go in their order.
//  * Each pass that has works of a priority has the oldest of them.
//  * While works of a priority wait, one of them is in a pass after at most BypassLimits passes
//    without.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/id.h"
#include "engine/host/embedding_runner.h"
#include "llm/priority.h"
#include "queueing/bypass.h"

namespace windrow::engine {

// One input of a request, from submission to its vector. Never used twice.
using InputId = Id<struct InputTag>;

// The inputs of one request. Later works have higher ids.
using WorkId = Id<struct WorkTag>;

// Used by one thread at a time.
class EmbeddingBatch {
 public:
  explicit EmbeddingBatch(const EmbeddingLimits& limits) : limits_(limits) {}

  // Adds a waiting input. `tokens` is 1 .. input_tokens_max. All inputs of a work have one
  // priority.
  void add(InputId id, int32_t tokens, WorkId work, llm::Priority priority);

  // Another work has the same input. While it waits, it moves to that work if its priority is
  // higher.
  void wanted_by(InputId id, WorkId work, llm::Priority priority);

  struct Budget {
    int32_t tokens = 0;
    int32_t inputs = 0;  // 0: as many as fit
  };

  // Takes the inputs of the next pass; empty when none waits. Before the next call, ran() or
  // failed() must report how it went.
  std::vector<InputId> next(const Budget& budget);

  // Whether the waiting inputs fill a pass.
  bool fills(const Budget& budget) const;

  // The pass ran.
  void ran() { running_.clear(); }

  // The pass failed: its inputs wait again, each to go alone. False when it had a single input,
  // which is dropped.
  bool failed();

  // Drops waiting inputs.
  void remove_if(const std::function<bool(InputId)>& predicate);

  // The next input of the oldest work. Only while inputs wait.
  InputId oldest() const;

  int32_t waiting() const { return waiting_; }

 private:
  struct Input {
    InputId id;
    int32_t tokens = 0;
  };

  struct Work {
    llm::Priority priority = llm::Priority::kNormal;
    int64_t tokens = 0;
    std::deque<Input> inputs;  // never empty
  };

  // The space that is left in the pass being composed.
  struct Space {
    int32_t tokens = 0;
    int32_t inputs = 0;
  };

  int32_t inputs_max(const Budget& budget) const;
  std::optional<llm::Priority> due_priority() const;
  void fill(Space left);
  std::optional<WorkId> oldest_of(llm::Priority priority) const;
  void push(WorkId id, llm::Priority priority, const Input& input);
  bool take(WorkId id, Space share, Space& left);
  void file(WorkId id, const Work& work);
  void unfile(WorkId id, const Work& work);

  const EmbeddingLimits limits_;
  std::deque<Input> again_;  // each alone, before all others
  std::map<WorkId, Work> works_;
  std::set<std::pair<llm::Priority, WorkId>> by_age_;
  std::set<std::tuple<llm::Priority, int64_t, WorkId>> by_tokens_;
  std::unordered_map<InputId, WorkId> work_of_;  // for the inputs in works_
  int32_t waiting_ = 0;
  int64_t waiting_tokens_ = 0;
  std::vector<Input> running_;
  std::array<bool, 3> took_ = {};  // the present pass, of this priority
  queueing::BypassCounter bypassed_;
};

}  // namespace windrow::engine
