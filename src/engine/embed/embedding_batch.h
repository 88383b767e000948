// EmbeddingBatch: which inputs go into the next pass. Pure: it counts tokens and never sees one.
//
// Inputs go side by side and without padding, as many as the budget takes; those of one work may be
// spread over passes. Inputs of one length are not brought together: without padding it gains
// nothing. Works go by priority; of one priority the oldest has half of a pass, and the rest goes
// to those that have least left (SRPT, Schrage, 1968), so that one text does not wait for two
// thousand of somebody else, nor they for ever.
//
// Invariants:
//  * Each input is in one pass, and in another only after that one failed.
//  * A pass has as many inputs and tokens as the budget at most, which never is more than
//    inputs_max and batch_tokens_max; an input longer than the budget goes alone.
//  * Inputs of a pass that failed go again, each alone, before all others.
//  * Inputs of one work go in their order.
//  * Of works that are as urgent the oldest is in each pass that has any of them.
//  * Of each priority that waits one is in a pass after BypassLimits passes without it at most.
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

// The inputs of one request. Higher ones came later.
using WorkId = Id<struct WorkTag>;

// Used by one thread at a time.
class EmbeddingBatch {
 public:
  explicit EmbeddingBatch(const EmbeddingLimits& limits) : limits_(limits) {}

  // `tokens` is 1 .. input_tokens_max. Inputs of one work are as urgent.
  void add(InputId id, int32_t tokens, WorkId work, llm::Priority priority);

  // Another work wants this input, too: where that is more urgent it is the other's, if it waits.
  void wanted_by(InputId id, WorkId work, llm::Priority priority);

  struct Budget {
    int32_t tokens = 0;
    int32_t inputs = 0;  // 0: as many as fit
  };

  // The next pass: its inputs wait no more. Empty when none does. What became of them is said by
  // one call of the next two, before next is called again.
  std::vector<InputId> next(const Budget& budget);

  // Whether what waits fills a pass.
  bool fills(const Budget& budget) const;

  // The pass ran.
  void ran() { running_.clear(); }

  // The pass failed and its inputs wait again, each to go alone. False when it had one input: that
  // one is gone.
  bool failed();

  // Drops inputs that wait.
  void remove_if(const std::function<bool(InputId)>& predicate);

  // The next one of the oldest work; not to be asked when none waits.
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
    std::deque<Input> inputs;  // never none
  };

  // Of the pass that is put together: what there is room for.
  struct Room {
    int32_t tokens = 0;
    int32_t inputs = 0;
  };

  int32_t inputs_max(const Budget& budget) const;
  std::optional<llm::Priority> due_priority() const;
  void fill(Room left);
  std::optional<WorkId> oldest_of(llm::Priority priority) const;
  void push(WorkId id, llm::Priority priority, const Input& input);
  bool take(WorkId id, Room share, Room& left);
  void file(WorkId id, const Work& work);
  void unfile(WorkId id, const Work& work);

  const EmbeddingLimits limits_;
  std::deque<Input> again_;  // each alone, before all others
  std::map<WorkId, Work> works_;
  std::set<std::pair<llm::Priority, WorkId>> by_age_;
  std::set<std::tuple<llm::Priority, int64_t, WorkId>> by_tokens_;
  std::unordered_map<InputId, WorkId> work_of_;  // of those in works_
  int32_t waiting_ = 0;
  int64_t waiting_tokens_ = 0;
  std::vector<Input> running_;
  std::array<bool, 3> took_ = {};  // the present pass, of this priority
  queueing::BypassCounter bypassed_;
};

}  // namespace windrow::engine
