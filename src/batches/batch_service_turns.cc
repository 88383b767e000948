// Whose turn it is: what is validated next, whose rows run, what keeps nobody else out.
#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "batches/batch_service.h"

// All of it with the lock.
namespace windrow::batches {

// One of its models that is not there and whose rows wait for it; empty: they are all there.
std::string BatchService::waited_for(const BatchRecord& record) const {
  for (const std::string& model : record.models) {
    if (models_->is_waited_for(model)) return model.empty() ? "of its rows" : model;
  }
  return "";
}

bool BatchService::lacks_its_key(const BatchRecord& record) const {
  return options_.keys != nullptr && !record.owner.empty() && !options_.keys->knows(record.owner);
}

// One whose rows wait for a model, or their key, keeps nobody back who needs another one.
bool BatchService::takes_a_place(const Live& live) const {
  return live.counts_as_running && waited_for(live.record).empty() && !lacks_its_key(live.record);
}

// Of those that took the least time so far: the oldest, of another key than the last one's where
// there is such a one.
BatchService::LivePtr BatchService::next_to_validate() const {
  LivePtr best;
  std::pair<Duration, bool> best_rank;
  for (const auto& [number, live] : live_) {
    if (live->working || live->record.state.status != BatchStatus::kValidating) continue;
    if (live->not_before && clock_.now() < *live->not_before) continue;
    const std::pair rank(live->turn, live->record.owner == validated_last_);
    if (best && rank >= best_rank) continue;
    best = live;
    best_rank = rank;
  }
  return best;
}

// A file that takes long to read, were it one that is made to, keeps nobody waiting for long. It
// begins again behind the others: twice the time in all is cheaper than to have many half read.
void BatchService::end_long_turn() {
  if (!validating_ || !validating_->lines || validating_->turn_over) return;
  if (clock_.now() - validating_since_ < validating_->turn || !next_to_validate()) return;
  validating_->turn *= 2;
  validating_->turn_over = true;
  validating_->note = "its file takes long to read; those that came meanwhile go first";
  validating_->lines->interrupt();
}

// Of those whose keys have the fewest that run: the oldest, of models that no other one runs on
// where there is such a one.
BatchService::LivePtr BatchService::next_to_run(int32_t running) const {
  std::set<std::string> busy;
  std::set<std::string> waited;  // for a model that is not there one batch waits, and no more
  std::map<std::string, int32_t> of_owner;
  for (const auto& [number, live] : live_) {
    if (!live->counts_as_running) continue;
    const std::vector<std::string>& models = live->record.models;
    if (takes_a_place(*live)) ++of_owner[live->record.owner];
    if (lacks_its_key(live->record)) continue;
    busy.insert(models.begin(), models.end());
    if (!waited_for(live->record).empty()) waited.insert(models.begin(), models.end());
  }
  std::set<std::string> gone;  // keys; thousands of batches may be of one
  LivePtr best;
  std::pair<int32_t, bool> best_rank;
  for (const auto& [number, live] : live_) {
    if (live->working || live->record.state.status != BatchStatus::kInProgress) continue;
    if (live->not_before && clock_.now() < *live->not_before) continue;
    const int32_t others = of_owner[live->record.owner];
    // A key with many long ones does not keep the others waiting for hours.
    if (running >= options_.running_max && others > 0) continue;
    const bool shares = std::ranges::any_of(
        live->record.models, [&](const std::string& model) { return busy.contains(model); });
    const bool waits = std::ranges::any_of(
        live->record.models, [&](const std::string& model) { return waited.contains(model); });
    if (waits || gone.contains(live->record.owner)) continue;
    const std::pair rank(others, shares);
    if (best && rank >= best_rank) continue;
    if (lacks_its_key(live->record)) {
      gone.insert(live->record.owner);
      continue;
    }
    best = live;
    best_rank = rank;
  }
  return best;
}

void BatchService::begin_what_can() {
  auto running = static_cast<int32_t>(
      std::ranges::count_if(live_, [&](const auto& one) { return takes_a_place(*one.second); }));
  for (const auto& [number, live] : live_) {
    if (live->working || (live->not_before && clock_.now() < *live->not_before)) continue;
    const BatchStatus status = live->record.state.status;
    if (status == BatchStatus::kFinalizing || status == BatchStatus::kCancelling)
      begin(live, &BatchService::close);
  }
  end_long_turn();
  if (LivePtr next = next_to_validate(); next && !validating_) {
    next->note.clear();
    validating_ = next;
    validated_last_ = next->record.owner;
    validating_since_ = clock_.now();
    begin(next, &BatchService::validate);
  }
  for (; running < 2 * options_.running_max; ++running) {
    const LivePtr next = next_to_run(running);
    if (!next) return;
    next->counts_as_running = true;
    begin(next, &BatchService::run_rows);
  }
}

}  // namespace windrow::batches
