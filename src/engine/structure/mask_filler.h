// MaskFiller: finds the masks of rows while the model runs. A mask is wanted as soon as its row's
// last token is known and needed when the next logits are there, a forward pass later; in between a
// few threads look for those that are not remembered.
//
// One slow mask cannot hold the other rows: all are looked for in slices, in turns, and a row whose
// mask is not there after so many slices sits out until it is (StepLoop). Slices are counted, not
// timed, and what a row answers does not depend on them.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "engine/structure/answer_guide.h"
#include "grammar/token_mask.h"

namespace windrow::engine {

struct MaskFilling {
  int32_t threads = 1;  // 0: all is done in wait()

  // Nodes of the vocabulary's trie in a slice (a few microseconds a thousand), and the slices that
  // a step waits for.
  size_t nodes_a_slice = 4096;
  int32_t slices_a_step = 8;
};

// A mask that is looked for. Until it is there the guide is the filler's.
class WantedMask {
 public:
  explicit WantedMask(std::shared_ptr<AnswerGuide> guide) : guide_(std::move(guide)) {}

 private:
  friend class MaskFiller;

  const std::shared_ptr<AnswerGuide> guide_;
  std::shared_ptr<const grammar::TokenMask> mask_;
  int32_t slices_ = 0;
  bool dropped_ = false;
};

// Its methods are for one thread, the engine's.
class MaskFiller {
 public:
  explicit MaskFiller(const MaskFilling& filling);
  ~MaskFiller();
  MaskFiller(const MaskFiller&) = delete;
  MaskFiller& operator=(const MaskFiller&) = delete;

  // A remembered mask is there at once.
  std::shared_ptr<WantedMask> want(std::shared_ptr<AnswerGuide> guide);

  // Nothing while it is not there.
  std::shared_ptr<const grammar::TokenMask> mask(const WantedMask& wanted);

  // Until each of them is there or has had the slices of a step since this was called. The caller
  // takes part.
  void wait(std::span<const std::shared_ptr<WantedMask>> wanted);

  // Nobody waits for it any more.
  void drop(WantedMask& wanted);

 private:
  void serve();
  void run_slice(std::unique_lock<std::mutex>& lock);
  void start_threads();

  const MaskFilling filling_;
  std::mutex mutex_;
  std::condition_variable wanted_;  // work is there
  std::condition_variable sliced_;  // a slice was done
  std::deque<std::shared_ptr<WantedMask>> queue_;
  bool closing_ = false;

  std::vector<std::jthread> threads_;  // last: they use all of the above
};

}  // namespace windrow::engine
