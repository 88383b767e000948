// RowMasks: the token masks of rows whose answers have a form. A mask is requested as soon as its
// row's last token is known and computed while the model runs (structure/mask_filler.h). A row
// whose mask is not ready when its logits are sits out: they are kept here until the mask is.
//
// Used by one thread at a time.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "engine/generate/step_sampler.h"
#include "engine/host/types.h"
#include "engine/structure/answer_guide.h"
#include "engine/structure/mask_filler.h"

namespace windrow::engine {

class RowMasks {
 public:
  struct Deferred {
    StepOutput output;          // its logits are those below
    std::vector<float> logits;  // vectors keep their elements when they are moved
  };

  explicit RowMasks(const MaskFilling& filling) : filler_(filling) {}

  // Requests the mask of the row's next token, if it needs one. The guide must not be used until
  // the row's output has its mask, or the row is dropped.
  void request(RowId row, const std::shared_ptr<AnswerGuide>& guide);

  // Gives each output its mask, after a short wait. Removes the outputs whose mask is not ready by
  // then; their rows sit out.
  void assign(std::vector<StepOutput>& outputs);

  bool has_deferred() const { return !deferred_.empty(); }

  // The outputs, with masks, of rows that sat out and need no longer do so.
  std::vector<Deferred> take_ready();

  // Waits a while for the masks of the rows that sit out. Blocks.
  void wait();

  // The row has ended.
  void drop(RowId row);

 private:
  MaskFiller filler_;
  std::unordered_map<RowId, std::shared_ptr<WantedMask>> masks_;  // of rows with a form only
  std::vector<Deferred> deferred_;
};

}  // namespace windrow::engine
