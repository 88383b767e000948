#include "engine/schedule/step_composer.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

namespace windrow::engine {
namespace {

bool clients_compute(RunningRows running) {
  return std::ranges::any_of(running, [](const ScheduledRow* row) {
    return row->begun && row->pending() > 0 && !row->is_background();
  });
}

// No other row decodes, sits out or has a prompt to compute, so none waits for the end of the step.
// (Rows that wait for the prefix it computes gain by long steps.)
bool one_row_has_begun(RunningRows running) {
  return std::ranges::count_if(running, &ScheduledRow::begun) == 1;
}

// The index of the first row of a lower priority than the first row; the number of rows when there
// is none.
size_t first_of_lower_priority(std::span<const ScheduledRow* const> rows) {
  const auto found = std::ranges::find_if(rows, [&](const ScheduledRow* row) {
    return row->effective_priority() > rows.front()->effective_priority();
  });
  return static_cast<size_t>(found - rows.begin());
}

}  // namespace

ScheduledStep StepComposer::compose(RunningRows running, int32_t prefill_tokens_max,
                                    int32_t lone_tokens_max, const BackgroundTokens& background) {
  const int32_t prefill_max = one_row_has_begun(running)
                                  ? std::max(prefill_tokens_max, lone_tokens_max)
                                  : prefill_tokens_max;
  ScheduledStep step{.clients_wait = clients_compute(running)};
  background_left_ =
      step.clients_wait ? background.beside_clients_max : background.between_clients_max;
  if (limits_.mixes) {
    push_decoding(step, running);
    push_prefills(step, running, prefill_max);
    return step;
  }
  push_prefills(step, running, prefill_max);
  if (step.slices.empty()) push_decoding(step, running);
  // libllama computes sequences of a split cache in one pass only as far as their ids follow each
  // other.
  std::ranges::sort(step.slices, {}, &Slice::sequence);
  return step;
}

int32_t StepComposer::tokens_alone(const ScheduledRow& row, int32_t prefill_tokens_max) const {
  return std::min({row.pending(), std::max(prefill_tokens_max, 1), limits_.tokens_max,
                   row.tokens_for_outputs(limits_.outputs_max)});
}

ScheduledStep StepComposer::compose_alone(RunningRows running, const ScheduledRow& row,
                                          int32_t tokens) {
  background_left_ = INT32_MAX;
  ScheduledStep step{.clients_wait = clients_compute(running)};
  push_slice(step, row, tokens);
  return step;
}

void StepComposer::step_ran(const ScheduledStep& step) {
  if (step.slices.size() == 1 && step.slices.front().tokens_count > 1) {
    prefilled_tokens_ += step.slices.front().tokens_count;
    ++prefill_turns_;
  } else {
    prefilled_tokens_ = 0;
  }
}

void StepComposer::push_slice(ScheduledStep& step, const ScheduledRow& row, int32_t tokens) {
  step.slices.push_back(Slice{.row = row.id,
                              .sequence = row.sequence,
                              .first = row.computed,
                              .tokens_count = tokens,
                              .outputs_count = row.outputs_of(tokens)});
  if (!row.is_background()) return;
  step.background_tokens += tokens;
  background_left_ -= tokens;
}

// --- rows that decode ---------------------------------------------------------------------------

// Where the model does not mix, a forced run beside other rows takes as many steps as it has
// tokens, each the share of one row; alone it takes one step.
bool StepComposer::runs_alone(const ScheduledRow& row, RunningRows running) const {
  if (limits_.mixes || row.pending() < 2) return false;
  const auto decoding_count = std::ranges::count_if(
      running, [](const ScheduledRow* other) { return other->begun && other->is_decoding(); });
  return row.pending() > decoding_count;
}

// Every row that decodes brings one token and may want an output; runs take what is left.
void StepComposer::push_decoding(ScheduledStep& step, RunningRows running) {
  std::vector<const ScheduledRow*> decoding;
  int32_t more = 0;  // tokens beyond the first of each row
  int32_t background_more = background_left_;
  for (const ScheduledRow* row : running) {
    if (!takes_part(*row) || !row->is_decoding()) continue;
    if (row->is_background() && background_more-- <= 0) continue;
    decoding.push_back(row);
    if (limits_.mixes) more += row->pending() - 1;
  }
  background_more = std::max(0, background_more);
  const auto count = static_cast<int32_t>(decoding.size());
  more = std::min(more, limits_.tokens_max - count);
  if (more > 0) memory_.make_room(count + more);
  more = std::max(0, std::min(more, memory_.cells_free() - count));
  int32_t outputs_more = limits_.outputs_max - count;
  for (const ScheduledRow* row : decoding) {
    const bool background = row->is_background();
    const int32_t tokens =
        std::min({row->pending(), 1 + (background ? std::min(more, background_more) : more),
                  std::max(1, row->tokens_for_outputs(1 + outputs_more))});
    push_slice(step, *row, tokens);
    more -= tokens - 1;
    if (background) background_more -= tokens - 1;
    outputs_more -= std::max(0, step.slices.back().outputs_count - 1);
  }
}

// --- prompts ------------------------------------------------------------------------------------

// How much of a row may be computed in one step before anything else happens.
int32_t StepComposer::prefill_wanted(const ScheduledRow& row) const {
  const bool stops = memory_.limits().sharing == Sharing::kExactEnd && row.stop_at > 0;
  return (stops ? row.stop_at : row.tokens) - row.computed;
}

// How many tokens each of the prompts has in a step with room for so many tokens and outputs.
std::vector<int32_t> StepComposer::shares(Prefills prefills, int32_t tokens,
                                          int32_t outputs) const {
  std::vector<int32_t> given(prefills.size(), 0);
  int32_t background = background_left_;
  const auto give = [&](size_t i, int32_t tokens_max, int32_t outputs_max) {
    const ScheduledRow& row = *prefills[i];
    const int32_t before = given[i];
    tokens_max = std::min(tokens_max, row.is_background() ? std::min(tokens, background) : tokens);
    outputs_max = std::min(outputs_max, outputs);
    const int32_t outputs_before = row.outputs_of(before);
    given[i] = std::max(before, std::min({prefill_wanted(row), before + tokens_max,
                                          row.tokens_for_outputs(outputs_before + outputs_max)}));
    tokens -= given[i] - before;
    if (row.is_background()) background -= given[i] - before;
    outputs -= row.outputs_of(given[i]) - outputs_before;
  };
  const int32_t eighth = (tokens + 7) / 8;
  const int32_t outputs_eighth = (outputs + 7) / 8;
  if (!prefills.empty()) give(0, (tokens + 1) / 2, (outputs + 1) / 2);
  const size_t lower_priority = first_of_lower_priority(prefills);
  if (lower_priority < prefills.size()) give(lower_priority, eighth, outputs_eighth);
  std::vector<size_t> order(prefills.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, {}, [&](size_t i) {
    return std::tuple(prefills[i]->effective_priority(), prefills[i]->pending(), i);
  });
  for (const size_t i : order)
    give(i, tokens, outputs);
  return given;
}

void StepComposer::push_prefills(ScheduledStep& step, RunningRows running,
                                 int32_t prefill_tokens_max) {
  int32_t decoding_tokens = 0;
  int32_t outputs_left = limits_.outputs_max;
  for (const Slice& slice : step.slices) {
    decoding_tokens += slice.tokens_count;
    outputs_left -= std::max(1, slice.outputs_count);
  }
  int32_t budget = std::min(std::max(prefill_tokens_max, 1), limits_.tokens_max - decoding_tokens);
  std::vector<const ScheduledRow*> prefills;
  int32_t wanted = 0;
  for (const ScheduledRow* row : running) {
    if (!takes_part(*row) || (row->is_decoding() && !runs_alone(*row, running))) continue;
    prefills.push_back(row);
    const int32_t allowed = row->is_background() ? background_left_ : INT32_MAX;
    wanted = std::min(budget, wanted + std::min(row->pending(), allowed));
  }
  std::ranges::sort(prefills, {}, [](const ScheduledRow* row) {
    return std::pair(row->effective_priority(), row->id);
  });
  memory_.make_room(decoding_tokens + wanted);
  budget = std::min(budget, memory_.cells_free() - decoding_tokens);
  if (!limits_.mixes) {
    push_one_prefill(step, running, prefills, budget);
    return;
  }
  const std::vector<int32_t> counts = shares(prefills, budget, outputs_left);
  for (size_t i = 0; i < prefills.size(); ++i) {
    if (counts[i] > 0) push_slice(step, *prefills[i], counts[i]);
  }
}

// Where the model does not mix, a step is one row's. Of the highest priority the oldest and the
// shortest take turns, and each eighth step goes to the first row of lower priority. Once prefills
// have had a step's worth of tokens together, the rows that decode have a step.
void StepComposer::push_one_prefill(ScheduledStep& step, RunningRows running, Prefills prefills,
                                    int32_t tokens) {
  std::vector<const ScheduledRow*> order(prefills.begin(), prefills.end());
  const auto lower_priority = static_cast<ptrdiff_t>(first_of_lower_priority(prefills));
  if (prefill_turns_ % 8 == 7 && lower_priority < std::ssize(order)) {
    std::rotate(order.begin(), order.begin() + lower_priority, order.begin() + lower_priority + 1);
  } else if (prefill_turns_ % 2 == 1) {
    std::ranges::sort(order, {}, [](const ScheduledRow* row) {
      return std::tuple(row->effective_priority(), row->pending(), row->id);
    });
  }
  const bool others_decode = std::ranges::any_of(running, [&](const ScheduledRow* row) {
    return takes_part(*row) && row->is_decoding() && !runs_alone(*row, running);
  });
  for (const ScheduledRow* row : order) {
    const int32_t count =
        std::min({prefill_wanted(*row), tokens, row->tokens_for_outputs(limits_.outputs_max),
                  row->is_background() ? background_left_ : tokens});
    if (count <= 0) continue;
    const bool too_much = prefilled_tokens_ > 0 && prefilled_tokens_ + count > tokens;
    if (!(others_decode && too_much)) push_slice(step, *row, count);
    return;
  }
}

}  // namespace windrow::engine
