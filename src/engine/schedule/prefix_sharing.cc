#include "engine/schedule/prefix_sharing.h"

#include <algorithm>

#include "base/ensure.h"

namespace windrow::engine {
namespace {

// How many of its first tokens the row could share once `other` has computed its known tokens.
int32_t shareable_with(const ScheduledRow& row, const ScheduledRow& other) {
  const int32_t common = common_prefix_size(row.known(), other.known());
  const int32_t unscored = std::min(common, static_cast<int32_t>(row.shareable().size()));
  const bool is_scored = row.wants_scores() && other.scores_top >= row.scores_top;
  return is_scored ? std::max(unscored, common - 1) : unscored;
}

}  // namespace

PrefixSharing::Prefix PrefixSharing::prefix_of(const ScheduledRow& row, RunningRows running) const {
  Prefix prefix;
  if (memory_.limits().sharing == Sharing::kNothing) return prefix;
  prefix.computed = memory_.match(row);
  for (ScheduledRow* other : running) {
    if (other == &row || !other->begun || other->is_suspect || other->is_decoding()) continue;
    const int32_t coming = shareable_with(row, *other);
    // A model that shares only ends has to stop there, so it must not be further on.
    if (coming <= other->computed) continue;
    if (coming > prefix.coming) {
      prefix.coming = coming;
      prefix.leader = other;
    }
  }
  return prefix;
}

void PrefixSharing::begin(ScheduledRow& row) {
  const PrefixTree::Match match = memory_.match(row);
  memory_.attach(row.sequence, match);
  row.computed = row.snapshot_at = match.tokens;
  row.begun = true;
  memory_.remove_waiting(row);
  if (match.tokens <= row.outputs_from) return;
  taken_scores_.push_back(
      {.row = row.id, .scores = memory_.scores(row.sequence, row.outputs_from, match.tokens)});
  row.outputs_from = match.tokens;
}

void PrefixSharing::begin_rows(RunningRows running) {
  for (ScheduledRow* row : running) {
    row->stop_at = 0;
    row->inherited_priority = llm::Priority::kBatch;
  }
  for (ScheduledRow* row : running) {
    if (row->begun) continue;
    const Prefix prefix = prefix_of(*row, running);
    if (!prefix.is_worth_waiting()) {
      begin(*row);
      continue;
    }
    row->shared_expected = prefix.coming;
    ENSURE(prefix.leader != nullptr, "row {} waits for no other row", row->id.value());
    ScheduledRow& leader = *prefix.leader;
    leader.inherited_priority = std::min(leader.inherited_priority, row->rank);
    leader.stop_at = leader.stop_at == 0 ? prefix.coming : std::min(leader.stop_at, prefix.coming);
  }
  if (memory_.limits().sharing != Sharing::kExactEnd) return;
  for (ScheduledRow* row : running)
    stop_for_waiting(*row);
}

void PrefixSharing::stop_for_waiting(ScheduledRow& row) const {
  if (!row.begun || row.is_decoding()) return;
  const int32_t wanted = memory_.wanted_by_waiting(row);
  if (wanted <= row.computed || wanted < row.snapshot_at + kPrefixTokensMin) return;
  if (row.stop_at == 0 || wanted < row.stop_at) row.stop_at = wanted;
}

void PrefixSharing::snapshot_stopped(RunningRows running) {
  if (memory_.limits().sharing != Sharing::kExactEnd) return;
  for (ScheduledRow* row : running) {
    if (!row->begun || row->computed != row->stop_at || row->snapshot_at == row->computed) continue;
    row->snapshot_at = row->computed;
    memory_.snapshot_if_wanted(row->sequence);
  }
}

}  // namespace windrow::engine
