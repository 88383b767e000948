#include "engine/schedule/kv_cells.h"

#include <iterator>
#include <utility>

#include "base/ensure.h"

namespace windrow::engine {
namespace {

constexpr Token kNoScore = -1;

}  // namespace

int32_t CellMap::take() {
  ++used_;
  if (!free_.empty() && free_.top() < end()) {
    const int32_t cell = free_.top();
    free_.pop();
    taken_[static_cast<size_t>(cell)] = true;
    return cell;
  }
  // No cell is free below the end: what `free_` still lists lies above it.
  free_ = {};
  taken_.push_back(true);
  return end() - 1;
}

void CellMap::give_back(int32_t cell) {
  ENSURE(cell >= 0 && cell < end() && taken_[static_cast<size_t>(cell)], "cell {} is not taken",
         cell);
  --used_;
  taken_[static_cast<size_t>(cell)] = false;
  free_.push(cell);
  while (!taken_.empty() && !taken_.back())
    taken_.pop_back();
}

void KeptScores::keep(size_t index, KeptScore score) {
  ENSURE(score.next >= 0, "a score of token {}", score.next);
  if (const KeptScore* kept = at(index);
      kept != nullptr && (kept->next != score.next || kept->top_asked >= score.top_asked)) {
    return;
  }
  if (index >= scores_.size()) scores_.resize(index + 1, {.next = kNoScore});
  scores_[index] = std::move(score);
}

const KeptScore* KeptScores::at(size_t index) const {
  const bool is_kept = index < scores_.size() && scores_[index].next != kNoScore;
  return is_kept ? &scores_[index] : nullptr;
}

bool KeptScores::has(size_t index, Token next, int32_t top) const {
  const KeptScore* score = at(index);
  return score != nullptr && score->next == next && score->top_asked >= top;
}

KeptScores KeptScores::split(size_t index) {
  KeptScores behind;
  if (index >= scores_.size()) return behind;
  const auto from = scores_.begin() + static_cast<std::ptrdiff_t>(index);
  behind.scores_.assign(std::make_move_iterator(from), std::make_move_iterator(scores_.end()));
  scores_.erase(from, scores_.end());
  scores_.shrink_to_fit();
  return behind;
}

void KeptScores::join(size_t size, KeptScores behind) {
  ENSURE(scores_.size() <= size, "{} scores beside {} tokens", scores_.size(), size);
  if (behind.scores_.empty()) return;
  scores_.resize(size, {.next = kNoScore});
  scores_.insert(scores_.end(), std::make_move_iterator(behind.scores_.begin()),
                 std::make_move_iterator(behind.scores_.end()));
}

}  // namespace windrow::engine
