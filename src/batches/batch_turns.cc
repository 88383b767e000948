#include "batches/batch_turns.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace windrow::batches {
namespace {

int64_t number_of(const TurnCandidate& batch) {
  return batch.record->number;
}

bool may_begin(const TurnCandidate& batch, BatchStatus status) {
  return !batch.working && !batch.held_back && batch.record->state.status == status;
}

bool names_any_of(const BatchRecord& record, const std::set<std::string>& models) {
  return std::ranges::any_of(record.models,
                             [&](const std::string& model) { return models.contains(model); });
}

}  // namespace

TurnDecision BatchTurns::next(std::vector<TurnCandidate> batches, TimePoint now) {
  std::erase_if(longer_turns_, [&](const auto& turn) {
    return !std::ranges::binary_search(batches, turn.first, {}, number_of);
  });
  TurnDecision decision;
  auto running = static_cast<int32_t>(std::ranges::count_if(
      batches, [this](const TurnCandidate& batch) { return takes_slot(batch); }));
  for (const TurnCandidate& batch : batches) {
    if (may_begin(batch, BatchStatus::kFinalizing) || may_begin(batch, BatchStatus::kCancelling))
      decision.close.push_back(number_of(batch));
  }

  const TurnCandidate* waiting = next_to_validate(batches);
  if (waiting != nullptr && validating_ && !interrupted_ &&
      now - validating_since_ >= turn_of(*validating_)) {
    const auto current = std::ranges::find(batches, *validating_, number_of);
    if (current != batches.end() && current->interruptible) {
      longer_turns_[*validating_] = 2 * turn_of(*validating_);
      interrupted_ = true;
      decision.interrupt = validating_;
    }
  }
  if (waiting != nullptr && !validating_) {
    validating_ = number_of(*waiting);
    validating_since_ = now;
    last_validated_key_ = waiting->record->owner;
    decision.validate = validating_;
  }

  for (; running < 2 * running_max_; ++running) {
    TurnCandidate* chosen = next_to_run(batches, running);
    if (chosen == nullptr) break;
    chosen->working = true;
    chosen->running = true;
    decision.run.push_back(number_of(*chosen));
  }
  return decision;
}

void BatchTurns::validation_ended() {
  interrupted_ = false;
  validating_.reset();
}

Duration BatchTurns::turn_of(int64_t batch) const {
  const auto found = longer_turns_.find(batch);
  return found == longer_turns_.end() ? kFirstTurn : found->second;
}

bool BatchTurns::waits_for_a_model(const BatchRecord& record) const {
  return std::ranges::any_of(record.models, questions_.waits_for_model);
}

bool BatchTurns::takes_slot(const TurnCandidate& batch) const {
  return batch.running && !waits_for_a_model(*batch.record) && !questions_.lacks_key(*batch.record);
}

const TurnCandidate* BatchTurns::next_to_validate(const std::vector<TurnCandidate>& batches) const {
  const TurnCandidate* best = nullptr;
  std::pair<Duration, bool> best_rank;
  for (const TurnCandidate& batch : batches) {
    if (!may_begin(batch, BatchStatus::kValidating)) continue;
    const std::pair rank(turn_of(number_of(batch)), batch.record->owner == last_validated_key_);
    if (best != nullptr && rank >= best_rank) continue;
    best = &batch;
    best_rank = rank;
  }
  return best;
}

TurnCandidate* BatchTurns::next_to_run(std::vector<TurnCandidate>& batches, int32_t running) const {
  std::set<std::string> busy;     // models that a running batch uses
  std::set<std::string> awaited;  // models that a running batch waits for
  std::map<std::string, int32_t> running_of_key;
  for (const TurnCandidate& batch : batches) {
    if (!batch.running) continue;
    const std::vector<std::string>& models = batch.record->models;
    if (takes_slot(batch)) ++running_of_key[batch.record->owner];
    if (questions_.lacks_key(*batch.record)) continue;
    busy.insert(models.begin(), models.end());
    if (waits_for_a_model(*batch.record)) awaited.insert(models.begin(), models.end());
  }
  std::set<std::string> revoked;  // each key is asked for once, though it may have many batches
  TurnCandidate* best = nullptr;
  std::pair<int32_t, bool> best_rank;
  for (TurnCandidate& batch : batches) {
    if (!may_begin(batch, BatchStatus::kInProgress)) continue;
    const BatchRecord& record = *batch.record;
    const int32_t others = running_of_key[record.owner];
    if (running >= running_max_ && others > 0) continue;
    if (names_any_of(record, awaited) || revoked.contains(record.owner)) continue;
    const std::pair rank(others, names_any_of(record, busy));
    if (best != nullptr && rank >= best_rank) continue;
    if (questions_.lacks_key(record)) {
      revoked.insert(record.owner);
      continue;
    }
    best = &batch;
    best_rank = rank;
  }
  return best;
}

}  // namespace windrow::batches
