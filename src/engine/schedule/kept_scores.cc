#include "engine/schedule/kept_scores.h"

#include <iterator>
#include <utility>

#include "base/ensure.h"

namespace windrow::engine {
namespace {

constexpr Token kNoScore = -1;

}  // namespace

void KeptScores::keep(size_t place, KeptScore score) {
  ENSURE(score.next >= 0, "a score of token {}", score.next);
  if (const KeptScore* there = at(place);
      there != nullptr && (there->next != score.next || there->top_asked >= score.top_asked)) {
    return;
  }
  if (place >= scores_.size()) scores_.resize(place + 1, {.next = kNoScore});
  scores_[place] = std::move(score);
}

const KeptScore* KeptScores::at(size_t place) const {
  const bool is_there = place < scores_.size() && scores_[place].next != kNoScore;
  return is_there ? &scores_[place] : nullptr;
}

bool KeptScores::has(size_t place, Token next, int32_t top) const {
  const KeptScore* score = at(place);
  return score != nullptr && score->next == next && score->top_asked >= top;
}

KeptScores KeptScores::split(size_t place) {
  KeptScores behind;
  if (place >= scores_.size()) return behind;
  const auto from = scores_.begin() + static_cast<std::ptrdiff_t>(place);
  behind.scores_.assign(std::make_move_iterator(from), std::make_move_iterator(scores_.end()));
  scores_.erase(from, scores_.end());
  scores_.shrink_to_fit();
  return behind;
}

void KeptScores::join(size_t places, KeptScores behind) {
  ENSURE(scores_.size() <= places, "{} scores beside {} tokens", scores_.size(), places);
  if (behind.scores_.empty()) return;
  scores_.resize(places, {.next = kNoScore});
  scores_.insert(scores_.end(), std::make_move_iterator(behind.scores_.begin()),
                 std::make_move_iterator(behind.scores_.end()));
}

}  // namespace windrow::engine
