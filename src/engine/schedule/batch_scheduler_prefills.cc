// The part of BatchScheduler that shares out a step among prompts.
#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

#include "engine/schedule/batch_scheduler.h"

namespace windrow::engine {

// What of a row may be computed in one step before anything else happens.
int32_t BatchScheduler::prefill_wanted(const Row& row) const {
  const bool stops = limits_.sharing == Sharing::kExactEnd && row.stop_at > 0;
  return (stops ? row.stop_at : row.tokens) - row.computed;
}

// The most urgent first, of these the shortest: it makes others wait least, and answers next (SRPT,
// Schrage, 1968). Half of the step is the first row's, the oldest of the most urgent, as far as it
// wants it, so that no stream of short prompts holds a long one for ever; and for the same reason
// an eighth is the first's of those that are less urgent.
std::vector<int32_t> BatchScheduler::shares(std::span<const RowId> rows, int32_t tokens,
                                            int32_t outputs) const {
  std::vector<int32_t> given(rows.size(), 0);
  int32_t background = background_left_;
  const auto give = [&](size_t i, int32_t tokens_max, int32_t outputs_max) {
    const Row& row = rows_.at(rows[i]);
    const int32_t before = given[i];
    tokens_max = std::min(tokens_max, in_background(row) ? std::min(tokens, background) : tokens);
    outputs_max = std::min(outputs_max, outputs);
    const int32_t outputs_before = outputs_of(row, before);
    given[i] = std::max(before, std::min({prefill_wanted(row), before + tokens_max,
                                          tokens_for_outputs(row, outputs_before + outputs_max)}));
    tokens -= given[i] - before;
    if (in_background(row)) background -= given[i] - before;
    outputs -= outputs_of(row, given[i]) - outputs_before;
  };
  const int32_t eighth = (tokens + 7) / 8;
  const int32_t outputs_eighth = (outputs + 7) / 8;
  if (!rows.empty()) give(0, (tokens + 1) / 2, (outputs + 1) / 2);
  const size_t lower_priority = first_lower_priority(rows);
  if (lower_priority < rows.size()) give(lower_priority, eighth, outputs_eighth);
  std::vector<size_t> order(rows.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, {}, [&](size_t i) {
    const Row& row = rows_.at(rows[i]);
    return std::tuple(hurry(row), pending(row), i);
  });
  for (const size_t i : order)
    give(i, tokens, outputs);
  return given;
}

// Of rows in the order of their hurry; their number when all are as urgent.
size_t BatchScheduler::first_lower_priority(std::span<const RowId> rows) const {
  const auto found = std::ranges::find_if(
      rows, [&](RowId id) { return hurry(rows_.at(id)) > hurry(rows_.at(rows.front())); });
  return static_cast<size_t>(found - rows.begin());
}

void BatchScheduler::push_prefills(ScheduledStep& step, int32_t prefill_tokens_max) {
  int32_t decoding_count = 0;  // tokens
  int32_t outputs_left = limits_.step_outputs_max;
  for (const Slice& slice : step.slices) {
    decoding_count += slice.tokens_count;
    outputs_left -= std::max(1, slice.outputs_count);
  }
  int32_t budget =
      std::min(std::max(prefill_tokens_max, 1), limits_.step_tokens_max - decoding_count);
  std::vector<RowId> prefills;
  int32_t wanted = 0;
  for (const RowId id : running_) {
    const Row& row = at(id);
    if (!takes_part(row) || (decoding(row) && !runs_alone(row))) continue;
    prefills.push_back(id);
    const int32_t may = in_background(row) ? background_left_ : INT32_MAX;
    wanted = std::min(budget, wanted + std::min(pending(row), may));
  }
  // A row that others wait for is in the hurry they are in.
  std::ranges::sort(prefills, {}, [&](RowId id) { return std::pair(hurry(at(id)), id); });
  make_room(decoding_count + wanted);
  budget = std::min(budget, cells_free() - decoding_count);
  if (!limits_.mixes) {
    push_one_prefill(step, prefills, budget);
    return;
  }
  const std::vector<int32_t> counts = shares(prefills, budget, outputs_left);
  for (size_t i = 0; i < prefills.size(); ++i) {
    if (counts[i] > 0) push_slice(step, prefills[i], counts[i]);
  }
}

// Where the cache does not mix, a step is one row's: of the most urgent in turns the oldest's and
// the shortest, and each eighth time the first's of those that are less urgent. They go on until
// together they have had a step's worth; then those that decode have one.
void BatchScheduler::push_one_prefill(ScheduledStep& step, std::span<const RowId> prefills,
                                      int32_t tokens) {
  std::vector<RowId> order(prefills.begin(), prefills.end());
  const auto lower_priority = static_cast<ptrdiff_t>(first_lower_priority(prefills));
  if (prefill_turns_ % 8 == 7 && lower_priority < std::ssize(order)) {
    std::rotate(order.begin(), order.begin() + lower_priority, order.begin() + lower_priority + 1);
  } else if (prefill_turns_ % 2 == 1) {
    std::ranges::sort(order, {},
                      [&](RowId id) { return std::tuple(hurry(at(id)), pending(at(id)), id); });
  }
  const bool others_decode = std::ranges::any_of(running_, [&](RowId id) {
    const Row& row = at(id);
    return takes_part(row) && decoding(row) && !runs_alone(row);
  });
  for (const RowId id : order) {
    const Row& row = at(id);
    const int32_t count =
        std::min({prefill_wanted(row), tokens, tokens_for_outputs(row, limits_.step_outputs_max),
                  in_background(row) ? background_left_ : tokens});
    if (count <= 0) continue;
    const bool too_much = prefilled_tokens_ > 0 && prefilled_tokens_ + count > tokens;
    if (!(others_decode && too_much)) push_slice(step, id, count);
    return;
  }
}

}  // namespace windrow::engine
