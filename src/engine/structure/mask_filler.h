// MaskFiller: computes the masks of rows while the model runs. A mask can be computed as soon as
// its row's last token is known and is needed when the next logits are there, a forward pass later;
// in between a few threads compute those that the grammar does not remember.
//
// One slow mask cannot hold up the other rows: all are computed in slices, in turns, and a row
// whose mask is not ready after so many slices sits out until it is (StepLoop). Slices are counted,
// not timed, and the answer of a row does not depend on them.
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
  int32_t threads = 1;  // 0: wait() does all the work

  // Nodes of the vocabulary's trie in a slice (a thousand take a few microseconds), and the slices
  // of each mask that a step waits for.
  size_t nodes_a_slice = 4096;
  int32_t slices_a_step = 8;
};

// A mask that is being computed. Until it is ready only the filler may use the guide.
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

// Used by the engine's thread; its own threads are started with the first mask.
class MaskFiller {
 public:
  explicit MaskFiller(const MaskFilling& filling);
  ~MaskFiller();
  MaskFiller(const MaskFiller&) = delete;
  MaskFiller& operator=(const MaskFiller&) = delete;

  // Begins to compute the guide's mask. A mask that the grammar remembers is ready at once.
  std::shared_ptr<WantedMask> want(std::shared_ptr<AnswerGuide> guide);

  // Null: it is not ready.
  std::shared_ptr<const grammar::TokenMask> mask(const WantedMask& wanted);

  // Blocks until each of them is ready or has had slices_a_step slices since this was called. The
  // caller takes part in the work.
  void wait(std::span<const std::shared_ptr<WantedMask>> wanted);

  // The mask is not needed any more.
  void drop(WantedMask& wanted);

 private:
  void serve();
  void run_slice(std::unique_lock<std::mutex>& lock);
  void start_threads();

  const MaskFilling filling_;
  std::mutex mutex_;
  std::condition_variable wanted_;  // queue_ got work
  std::condition_variable sliced_;  // a slice was done
  std::deque<std::shared_ptr<WantedMask>> queue_;
  bool closing_ = false;

  std::vector<std::jthread> threads_;  // last: they use all of the above
};

}  // namespace windrow::engine
