// EmbeddingBatch: which inputs go into the next pass. Pure: it counts tokens and never sees one.
//
// Inputs go in the order they came, side by side and without padding, as many as the budget takes;
// none overtakes another, so none waits for ever, and inputs of one request may be spread over
// passes. Inputs of one length are not brought together: without padding it gains nothing.
//
// Invariants:
//  * Each input is in one pass, and in another only after that one failed.
//  * A pass has as many inputs and tokens as the budget at most, which never is more than
//  inputs_max
//    and batch_tokens_max; an input longer than the budget goes alone.
//  * Inputs of a pass that failed go again, each alone, before all others.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include "base/id.h"
#include "engine/embedding_runner.h"

namespace windrow::engine {

// One input of a request, from submission to its vector. Never used twice.
using InputId = Id<struct InputTag>;

// Used by one thread at a time.
class EmbeddingBatch {
 public:
  explicit EmbeddingBatch(const EmbeddingLimits& limits) : limits_(limits) {}

  // `tokens` is 1 .. input_tokens_max.
  void add(InputId id, int32_t tokens);

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

  // Which goes first; not to be asked when none waits.
  InputId front() const { return waiting_.front().id; }

  int32_t waiting() const { return static_cast<int32_t>(waiting_.size()); }

 private:
  struct Input {
    InputId id;
    int32_t tokens = 0;
    bool alone = false;
  };

  int32_t inputs_max(const Budget& budget) const;

  const EmbeddingLimits limits_;
  std::deque<Input> waiting_;
  int64_t waiting_tokens_ = 0;
  std::vector<Input> running_;
};

}  // namespace windrow::engine
