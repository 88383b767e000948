// The part of BatchScheduler that gives places to rows and takes them away.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "base/ensure.h"
#include "engine/schedule/batch_scheduler.h"

namespace windrow::engine {
namespace {

// A row that is already longer than expected will still go on for a while.
constexpr int32_t kOutputTokensLeftMin = 16;

// The most rows of clients there were lately are expected again; half of them after so many steps.
const double kExpectedNextStep = std::pow(0.5, 1.0 / 64);
constexpr double kExpectedMin = 0.25;  // less is nobody

// Rows that rank so give their places to those that do not.
constexpr llm::Priority kGives = llm::Priority::kBatch;

}  // namespace

int32_t BatchScheduler::expected_cells(const Row& row) const {
  const int32_t generated = row.tokens - row.prompt_tokens;
  const int32_t left =
      std::max(kOutputTokensLeftMin, static_cast<int32_t>(output_tokens_expected_) - generated);
  return std::min(row.tokens + left, row.tokens_max - 1);
}

// What the row is still expected to add to the cells that are live now.
int64_t BatchScheduler::growth(const Row& row) const {
  return expected_cells(row) - (row.begun ? row.computed : row.share_expected);
}

void BatchScheduler::start(RowId id) {
  Row& row = at(id);
  ENSURE(row.sequence < 0 && row.computed == 0, "row {} runs already", id.value());
  waiting_.erase(order_of(id, row));
  const std::optional<SequenceId> sequence = tree_.open();
  ENSURE(sequence.has_value(), "no sequence is free");
  row.sequence = sequence->value();
  const auto place = std::ranges::upper_bound(
      running_, order_of(id, row), {}, [&](RowId other) { return order_of(other, at(other)); });
  running_.insert(place, id);
}

// The row gives back its sequence and what nobody else holds of its cells, and waits again, before
// all of its rank that are younger.
void BatchScheduler::stop(RowId id) {
  Row& row = at(id);
  ENSURE(row.sequence >= 0, "a waiting row has nothing to give back");
  tree_.close(SequenceId(row.sequence));
  row.computed_before = std::max(row.computed_before, row.computed);
  row.computed = 0;
  row.sequence = -1;
  row.stop_at = 0;
  std::erase(running_, id);
  waiting_.insert(order_of(id, row));
  if (std::exchange(row.begun, false)) await_beginning(id, row);
}

// Cells ran out.
void BatchScheduler::preempt(RowId id) {
  Row& row = at(id);
  // It was expected to be shorter; so were the others.
  output_tokens_expected_ =
      std::max(output_tokens_expected_, 2.0 * (row.tokens - row.prompt_tokens));
  closed_to_ = std::min(closed_to_.value_or(row.rank), row.rank);
  give_way(id);
}

// The row loses its place to others; where they are more urgent, not without end.
void BatchScheduler::give_way(RowId id) {
  Row& row = at(id);
  stop(id);
  ++preemptions_;
  const bool to_higher_priority = !running_.empty() && at(running_.front()).rank < row.rank;
  if (to_higher_priority) let_pass(id, kPassesOfPreemption);
}

std::optional<RowId> BatchScheduler::youngest_but(RowId id) const {
  const auto other = std::find_if(running_.rbegin(), running_.rend(),
                                  [&](RowId running) { return running != id; });
  if (other == running_.rend()) return std::nullopt;
  return *other;
}

// --- who goes in --------------------------------------------------------------------------------

// Of those that run with this rank or a lower one; of all for the highest.
BatchScheduler::Load BatchScheduler::load_from(llm::Priority rank) const {
  // What is at rest becomes live with its first row.
  Load load{.cells = tree_.cells() - tree_.cells_resting()};
  for (const RowId id : running_) {
    const Row& row = rows_.at(id);
    if (row.rank < rank) {
      load.cells -= row.computed;  // of which others may hold some: rather too little is left
      continue;
    }
    ++load.rows[static_cast<size_t>(row.rank)];
    load.cells += growth(row);
  }
  load.cells = std::max<int64_t>(load.cells, 0);
  return load;
}

bool BatchScheduler::has_place(const Row& row, const Load& load) const {
  return reserve_.has_slot(limits_.rows_max, load.rows, row.rank);
}

bool BatchScheduler::has_room(const Row& row, const Load& load) const {
  if (!has_place(row, load)) return false;
  const bool is_first = std::all_of(load.rows.begin() + static_cast<ptrdiff_t>(row.rank),
                                    load.rows.end(), [](int32_t rows) { return rows == 0; });
  const bool is_only = std::ranges::all_of(load.rows, [](int32_t rows) { return rows == 0; });
  // A row that is larger than what its kind may have goes in all the same.
  const int32_t cells_max =
      is_first ? limits_.cells_max : reserve_.capacity(limits_.cells_max, row.rank);
  return is_only || load.cells + growth(row) <= cells_max;
}

bool BatchScheduler::others_may_give_way_to(const Row& row) const {
  return row.priority != kGives && !running_.empty() && rows_.at(running_.back()).rank == kGives;
}

// Whether the row has room after the youngest rows of kBatch have given way to it; none does when
// that would not be enough.
bool BatchScheduler::make_way_for(const Row& row) {
  if (!others_may_give_way_to(row)) return false;
  Load without = load_from(llm::Priority::kInteractive);
  for (const RowId id : running_) {
    const Row& other = at(id);
    if (other.rank != kGives) continue;
    --without.rows[static_cast<size_t>(kGives)];
    without.cells -= other.computed + growth(other);
  }
  if (!has_room(row, without)) return false;
  while (!has_room(row, load_from(llm::Priority::kInteractive))) {
    if (running_.empty() || at(running_.back()).rank != kGives) return false;
    give_way(running_.back());
  }
  return true;
}

// More urgent ones have gone before it. Once these are enough it ranks with the most urgent.
void BatchScheduler::let_pass(RowId id, int32_t count) {
  Row& row = at(id);
  ENSURE(row.rank != llm::Priority::kInteractive, "nothing is more urgent than row {}", id.value());
  row.passes += count;
  if (row.passes < kPassesMax[static_cast<size_t>(row.rank) - 1]) return;
  waiting_.erase(order_of(id, row));
  row.rank = llm::Priority::kInteractive;
  waiting_.insert(order_of(id, row));
}

// A row went in: of those of lower ranks that came before it the first had to let it pass, if it
// was not for want of room among its like that it waits.
void BatchScheduler::count_passes(RowId gone) {
  for (const llm::Priority rank : {llm::Priority::kNormal, llm::Priority::kBatch}) {
    if (rank <= at(gone).rank) continue;
    const auto first = waiting_.lower_bound({rank, RowId(0)});
    if (first == waiting_.end() || first->first != rank || gone < first->second) continue;
    const RowId id = first->second;
    if (has_room(at(id), load_from(rank))) let_pass(id, 1);
  }
}

// Clients who ask and ask again are away for a moment between their rows. A row of kBatch that took
// the place then would lose it at once, with all that it had computed.
void BatchScheduler::expect_clients() {
  const auto of_clients = [&](RowId id) { return at(id).priority != llm::Priority::kBatch; };
  auto count = std::ranges::count_if(running_, of_clients);
  for (const auto& [rank, id] : waiting_) {
    if (rank == kGives || count >= limits_.rows_max) break;
    if (of_clients(id)) ++count;
  }
  clients_expected_ = std::max(clients_expected_ * kExpectedNextStep, static_cast<double>(count));
}

bool BatchScheduler::is_left_to_clients(const Row& row) const {
  const auto expected = static_cast<int32_t>(std::ceil(clients_expected_ - kExpectedMin));
  if (row.rank != kGives || running_.empty() || expected <= 0) return false;
  const auto of_batch = std::ranges::count_if(
      running_, [&](RowId id) { return rows_.at(id).priority == llm::Priority::kBatch; });
  return of_batch + expected >= reserve_.capacity(limits_.rows_max, llm::Priority::kNormal);
}

void BatchScheduler::admit_waiting() {
  if (running_.empty()) closed_to_.reset();
  expect_clients();
  while (!waiting_.empty()) {
    const RowId id = waiting_.begin()->second;
    Row& row = at(id);
    if (closed_to_ && row.rank >= *closed_to_) return;
    if (is_left_to_clients(row)) return;
    if (!has_place(row, load_from(llm::Priority::kInteractive)) && !others_may_give_way_to(row))
      return;
    const Beginning beginning = beginning_of(row);
    row.share_expected =
        std::max(beginning.there.live_tokens, beginning.worth_waiting() ? beginning.coming : 0);
    if (!has_room(row, load_from(llm::Priority::kInteractive)) && !make_way_for(row)) return;
    if (!make_room_for_sequence(!running_.empty())) return;
    start(id);
    // If who computes its beginning has just given way, begin_rows sees to it.
    if (!beginning.worth_waiting()) begin_row(id);
    count_passes(id);
  }
}

}  // namespace windrow::engine
