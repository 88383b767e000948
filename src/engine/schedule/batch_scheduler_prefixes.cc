// The part of BatchScheduler that is about prefixes: what a row takes over or waits for, and what
// stays at rest.
#include <algorithm>

#include "base/ensure.h"
#include "engine/schedule/batch_scheduler.h"

namespace windrow::engine {
namespace {

// A shorter beginning is worth neither waiting for nor a sequence id: the marks that every chat
// begins with are that long.
constexpr int32_t kPrefixTokensMin = 16;

// What may be kept at rest beside the cells that running rows need, and at least. 4,096 cells at
// rest made a step of 8 rows of 60 tokens 28 % longer (bench/README.md).
constexpr double kRestingShare = 0.5;
constexpr int32_t kRestingCellsMin = 1024;

// Each row pays for cells at rest: from so many on less is kept, down to a quarter.
constexpr int32_t kRowsAtFullShare = 2;
constexpr double kShareOfManyRows = 0.25;

}  // namespace

// --- beginnings ---------------------------------------------------------------------------------

bool BatchScheduler::Beginning::worth_waiting() const {
  return coming >= there.tokens + kPrefixTokensMin;
}

PrefixTree::Match BatchScheduler::match_of(const Row& row) const {
  if (!scores_more(row)) return tree_.longest_match(shareable(row));
  return tree_.longest_match(known(row), {.from = row.outputs_from, .top = *row.scores_top});
}

// How many leading tokens the row could take over once `other` has computed its known tokens.
int32_t BatchScheduler::may_take_from(const Row& other, const Row& row) {
  const int32_t common = common_beginning(known(row), known(other));
  const int32_t without_scores = std::min(common, static_cast<int32_t>(shareable(row).size()));
  const bool scored = scores_more(row) && other.scores_top >= row.scores_top;
  return scored ? std::max(without_scores, common - 1) : without_scores;
}

BatchScheduler::Beginning BatchScheduler::beginning_of(const Row& row) {
  Beginning beginning;
  if (limits_.sharing == Sharing::kNothing) return beginning;
  beginning.there = match_of(row);
  for (const RowId id : running_) {
    Row& other = at(id);
    if (&other == &row || !other.begun || suspects_.contains(id) || decoding(other)) continue;
    const int32_t coming = may_take_from(other, row);
    // A model that shares only ends has to stop there, so it must not have passed it.
    if (coming <= other.computed) continue;
    if (coming > beginning.coming) {
      beginning.coming = coming;
      beginning.coming_from = &other;
    }
  }
  return beginning;
}

void BatchScheduler::begin_row(RowId id) {
  Row& row = at(id);
  const SequenceId sequence(row.sequence);
  const PrefixTree::Match there = match_of(row);
  tree_.share(sequence, there);
  row.computed = row.copied_to = there.tokens;
  row.begun = true;
  forget_beginning(id, row);
  if (there.tokens <= row.outputs_from) return;
  taken_scores_.push_back(
      {.row = id, .scores = tree_.scores(sequence, row.outputs_from, there.tokens)});
  row.outputs_from = there.tokens;
}

// In their order, so that of rows with the same beginning the first computes it.
void BatchScheduler::begin_rows() {
  for (const RowId id : running_) {
    at(id).stop_at = 0;
    at(id).lent = llm::Priority::kBatch;
  }
  for (const RowId id : running_) {
    Row& row = at(id);
    if (row.begun) continue;
    const Beginning beginning = beginning_of(row);
    if (!beginning.worth_waiting()) {
      begin_row(id);
      continue;
    }
    row.share_expected = beginning.coming;
    ENSURE(beginning.coming_from != nullptr, "row {} waits for nobody", id.value());
    Row& leader = *beginning.coming_from;
    leader.lent = std::min(leader.lent, row.rank);
    leader.stop_at =
        leader.stop_at == 0 ? beginning.coming : std::min(leader.stop_at, beginning.coming);
  }
  if (limits_.sharing != Sharing::kExactEnd) return;
  for (const RowId id : running_)
    stop_for_waiting(at(id));
}

// Where a model shares only ends, a row stops where those that wait go another way.
void BatchScheduler::stop_for_waiting(Row& row) {
  if (!row.begun || decoding(row)) return;
  int32_t common = prompts_.longest_common(known(row));
  if (row.scores_top) common = std::max(common, scored_prompts_.longest_common(known(row)) - 1);
  if (common <= row.computed || common < row.copied_to + kPrefixTokensMin) return;
  if (row.stop_at == 0 || common < row.stop_at) row.stop_at = common;
}

// Rows that have just stopped for others leave their state to them. Not before the next step is
// planned: a state without the scores beside it is none that a row to be scored could take over.
void BatchScheduler::keep_stops() {
  if (limits_.sharing != Sharing::kExactEnd) return;
  for (const RowId id : running_) {
    Row& row = at(id);
    if (!row.begun || row.computed != row.stop_at || row.copied_to == row.computed) continue;
    row.copied_to = row.computed;
    const SequenceId sequence(row.sequence);
    if (wanted_size(sequence) != row.computed || !make_room_for_sequence(true)) continue;
    keep_[static_cast<size_t>(tree_.copy(sequence)->value())] = false;
  }
}

// --- prefixes at rest ---------------------------------------------------------------------------

// So many of the path's first tokens a row that has not begun would take over.
int32_t BatchScheduler::wanted_beginning(SequenceId sequence) const {
  const int32_t wanted = prompts_.longest_common(tree_.tokens(sequence));
  if (scored_prompts_.empty()) return wanted;
  return std::max(wanted, scored_prompts_.longest_common(tree_.scored_text(sequence)) - 1);
}

// How much of a path is wanted by rows that have not begun; nothing when other paths hold nearly as
// much of that.
int32_t BatchScheduler::wanted_size(SequenceId sequence) const {
  if (limits_.sharing == Sharing::kNothing) return 0;
  const int32_t common = wanted_beginning(sequence);
  if (limits_.sharing == Sharing::kExactEnd) {
    return common >= kPrefixTokensMin && common == tree_.size(sequence) ? common : 0;
  }
  return common >= tree_.shared_size(sequence) + kPrefixTokensMin ? common : 0;
}

// The row is over: its path is closed, or stays at rest as far as somebody wants it.
void BatchScheduler::keep_what_is_wanted(Row& row) {
  const SequenceId sequence(row.sequence);
  const bool keep = row.keep && limits_.sharing != Sharing::kNothing;
  const int32_t wanted = keep ? tree_.size(sequence) : wanted_size(sequence);
  if (wanted == 0) {
    tree_.close(sequence);
  } else {
    tree_.cut(sequence, wanted);
    tree_.rest(sequence);
    keep_[static_cast<size_t>(sequence.value())] = keep;
  }
  row.sequence = -1;
}

void BatchScheduler::drop_unwanted() {
  const auto cells_live = static_cast<double>(tree_.cells() - tree_.cells_resting());
  const double of_rows =
      std::clamp(kRowsAtFullShare / std::max(1.0, static_cast<double>(running_.size())),
                 kShareOfManyRows, 1.0);
  const auto cells_kept_max = static_cast<int32_t>(
      of_rows * std::max<double>(kRestingCellsMin, kRestingShare * cells_live));
  for (const SequenceId sequence : tree_.resting()) {
    int32_t kept = 0;
    if (keep_[static_cast<size_t>(sequence.value())]) {
      // Cells at rest cost nothing while there are no steps.
      const int32_t over = running_.empty() ? 0 : tree_.cells_resting() - cells_kept_max;
      if (over <= 0) continue;
      if (limits_.sharing == Sharing::kAnyRange) kept = tree_.size(sequence) - over;
    }
    kept = std::max(kept < kPrefixTokensMin ? 0 : kept, wanted_size(sequence));
    if (kept == 0) {
      tree_.close(sequence);
    } else {
      tree_.cut(sequence, kept);
    }
  }
}

bool BatchScheduler::drop_oldest_resting(bool spare_wanted) {
  const std::vector<SequenceId> resting = tree_.resting();
  if (resting.empty()) return false;
  // One that nobody waits for, if there is one.
  const auto unwanted = std::ranges::find_if(
      resting, [&](SequenceId sequence) { return wanted_size(sequence) == 0; });
  if (unwanted == resting.end() && spare_wanted) return false;
  tree_.close(unwanted != resting.end() ? *unwanted : resting.front());
  return true;
}

void BatchScheduler::drop_resting() {
  while (drop_oldest_resting()) {
  }
}

bool BatchScheduler::make_room(int32_t cells) {
  while (cells > cells_free()) {
    if (tree_.cells_resting() == 0 || !drop_oldest_resting()) return false;
  }
  return true;
}

bool BatchScheduler::make_room_for_sequence(bool spare_wanted) {
  return tree_.sequences_free() > 0 || drop_oldest_resting(spare_wanted);
}

}  // namespace windrow::engine
