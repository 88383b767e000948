#include "engine/generate/row_masks.h"

#include <algorithm>
#include <utility>

namespace windrow::engine {

void RowMasks::request(RowId row, const std::shared_ptr<AnswerGuide>& guide) {
  if (guide->is_free()) {
    masks_.erase(row);
  } else {
    masks_[row] = filler_.want(guide);
  }
}

void RowMasks::assign(std::vector<StepOutput>& outputs) {
  // Null: the output needs no mask. (Known tokens are scored without one.)
  const auto mask_of = [&](const StepOutput& output) -> const std::shared_ptr<WantedMask>* {
    const AnswerRow& row = *output.row;
    if (!row.guide() || row.ending()) return nullptr;
    if (output.position + 1 != static_cast<Position>(row.tokens().size())) return nullptr;
    const auto found = masks_.find(output.id);
    return found == masks_.end() ? nullptr : &found->second;
  };
  std::vector<std::shared_ptr<WantedMask>> wanted;
  for (const StepOutput& output : outputs) {
    if (const auto* mask = mask_of(output)) wanted.push_back(*mask);
  }
  if (wanted.empty()) return;
  filler_.wait(wanted);
  std::erase_if(outputs, [&](StepOutput& output) {
    const auto* mask = mask_of(output);
    if (mask == nullptr) return false;
    output.mask = filler_.mask(**mask);
    if (output.mask) return false;
    std::vector<float> logits(output.logits.begin(), output.logits.end());
    output.logits = logits;
    deferred_.push_back({.output = std::move(output), .logits = std::move(logits)});
    return true;
  });
}

std::vector<RowMasks::Deferred> RowMasks::take_ready() {
  std::vector<Deferred> ready;
  std::erase_if(deferred_, [&](Deferred& deferred) {
    deferred.output.mask = filler_.mask(*masks_.at(deferred.output.id));
    if (!deferred.output.mask) return false;
    ready.push_back(std::move(deferred));
    return true;
  });
  return ready;
}

void RowMasks::wait() {
  std::vector<std::shared_ptr<WantedMask>> wanted;
  wanted.reserve(deferred_.size());
  for (const Deferred& deferred : deferred_)
    wanted.push_back(masks_.at(deferred.output.id));
  filler_.wait(wanted);
}

void RowMasks::drop(RowId row) {
  const auto found = masks_.find(row);
  if (found == masks_.end()) return;
  filler_.drop(*found->second);
  masks_.erase(found);
  std::erase_if(deferred_, [&](const Deferred& deferred) { return deferred.output.id == row; });
}

}  // namespace windrow::engine
