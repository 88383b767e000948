#include "engine/embedding_batch.h"

#include <algorithm>

#include "base/ensure.h"

namespace windrow::engine {

void EmbeddingBatch::add(InputId id, int32_t tokens) {
  ENSURE(tokens >= 1 && tokens <= limits_.input_tokens_max,
         "an input of {} tokens came in, the model takes 1 to {}", tokens,
         limits_.input_tokens_max);
  waiting_.push_back({.id = id, .tokens = tokens});
  waiting_tokens_ += tokens;
}

int32_t EmbeddingBatch::inputs_max(const Budget& budget) const {
  return budget.inputs > 0 ? std::min(budget.inputs, limits_.inputs_max) : limits_.inputs_max;
}

bool EmbeddingBatch::fills(const Budget& budget) const {
  return waiting() >= inputs_max(budget) ||
         waiting_tokens_ >= std::min(budget.tokens, limits_.batch_tokens_max);
}

std::vector<InputId> EmbeddingBatch::next(const Budget& budget) {
  ENSURE(running_.empty(), "a pass of {} inputs has not ended", running_.size());
  const int32_t tokens_max = std::min(budget.tokens, limits_.batch_tokens_max);
  const auto inputs = static_cast<size_t>(inputs_max(budget));
  int32_t tokens = 0;
  while (!waiting_.empty() && running_.size() < inputs) {
    const Input& input = waiting_.front();
    const bool fits = !input.alone && tokens + input.tokens <= tokens_max;
    if (!running_.empty() && !fits) break;
    tokens += input.tokens;
    running_.push_back(input);
    waiting_.pop_front();
    if (!fits) break;
  }
  waiting_tokens_ -= tokens;
  std::vector<InputId> pass;
  pass.reserve(running_.size());
  for (const Input& input : running_)
    pass.push_back(input.id);
  return pass;
}

bool EmbeddingBatch::failed() {
  const bool had_several = running_.size() > 1;
  if (had_several) {
    for (Input& input : running_) {
      input.alone = true;
      waiting_tokens_ += input.tokens;
    }
    waiting_.insert(waiting_.begin(), running_.begin(), running_.end());
  }
  running_.clear();
  return had_several;
}

void EmbeddingBatch::remove_if(const std::function<bool(InputId)>& predicate) {
  std::erase_if(waiting_, [&](const Input& input) {
    if (!predicate(input.id)) return false;
    waiting_tokens_ -= input.tokens;
    return true;
  });
}

}  // namespace windrow::engine
