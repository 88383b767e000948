#include "engine/embed/embedding_batch.h"

#include <algorithm>

#include "base/ensure.h"

namespace windrow::engine {

void EmbeddingBatch::add(InputId id, int32_t tokens, WorkId work, llm::Priority priority) {
  ENSURE(tokens >= 1 && tokens <= limits_.input_tokens_max,
         "an input of {} tokens came in, the model takes 1 to {}", tokens,
         limits_.input_tokens_max);
  push(work, priority, {.id = id, .tokens = tokens});
  ++waiting_;
  waiting_tokens_ += tokens;
}

void EmbeddingBatch::push(WorkId id, llm::Priority priority, const Input& input) {
  const auto [found, fresh] = works_.try_emplace(id);
  Work& work = found->second;
  if (!fresh) unfile(id, work);
  if (fresh) work.priority = priority;
  ENSURE(work.priority == priority, "inputs of work {} differ in urgency", id.value());
  work.tokens += input.tokens;
  work.inputs.push_back(input);
  work_of_.emplace(input.id, id);
  file(id, work);
}

void EmbeddingBatch::file(WorkId id, const Work& work) {
  by_age_.emplace(work.priority, id);
  by_tokens_.emplace(work.priority, work.tokens, id);
}

void EmbeddingBatch::unfile(WorkId id, const Work& work) {
  by_age_.erase({work.priority, id});
  by_tokens_.erase({work.priority, work.tokens, id});
}

void EmbeddingBatch::wanted_by(InputId id, WorkId other, llm::Priority priority) {
  const auto owner = work_of_.find(id);
  if (owner == work_of_.end()) return;
  const WorkId work_id = owner->second;
  Work& work = works_.at(work_id);
  if (work.priority <= priority) return;
  const auto input = std::ranges::find(work.inputs, id, &Input::id);
  const Input moved = *input;
  unfile(work_id, work);
  work.tokens -= moved.tokens;
  work.inputs.erase(input);
  work_of_.erase(owner);
  if (work.inputs.empty()) {
    works_.erase(work_id);
  } else {
    file(work_id, work);
  }
  push(other, priority, moved);
}

int32_t EmbeddingBatch::inputs_max(const Budget& budget) const {
  return budget.inputs > 0 ? std::min(budget.inputs, limits_.inputs_max) : limits_.inputs_max;
}

bool EmbeddingBatch::fills(const Budget& budget) const {
  return waiting() >= inputs_max(budget) ||
         waiting_tokens_ >= std::min(budget.tokens, limits_.batch_tokens_max);
}

InputId EmbeddingBatch::oldest() const {
  return again_.empty() ? works_.begin()->second.inputs.front().id : again_.front().id;
}

std::optional<WorkId> EmbeddingBatch::oldest_of(llm::Priority priority) const {
  const auto oldest = by_age_.lower_bound({priority, WorkId(0)});
  if (oldest == by_age_.end() || oldest->first != priority) return std::nullopt;
  return oldest->second;
}

// The priority that was bypassed as often as it may be, if an input of it still waits.
std::optional<llm::Priority> EmbeddingBatch::due_priority() const {
  for (const llm::Priority priority : {llm::Priority::kNormal, llm::Priority::kBatch}) {
    if (bypassed_.is_due(priority) && oldest_of(priority)) return priority;
  }
  return std::nullopt;
}

// Moves inputs of the work into the pass, up to its share. False when the pass is complete: it is
// full, or the next input does not fit.
bool EmbeddingBatch::take(WorkId id, Space share, Space& left) {
  Work& work = works_.at(id);
  unfile(id, work);
  bool fits = true;
  while (fits && !work.inputs.empty() && left.inputs > 0 && share.inputs > 0 && share.tokens > 0) {
    const Input input = work.inputs.front();
    fits = input.tokens <= left.tokens;
    if (!fits && !running_.empty()) break;
    work.inputs.pop_front();
    work.tokens -= input.tokens;
    work_of_.erase(input.id);
    running_.push_back(input);
    took_[static_cast<size_t>(work.priority)] = true;
    left = {.tokens = left.tokens - input.tokens, .inputs = left.inputs - 1};
    share = {.tokens = share.tokens - input.tokens, .inputs = share.inputs - 1};
  }
  if (work.inputs.empty()) {
    works_.erase(id);
  } else {
    file(id, work);
  }
  return fits && left.inputs > 0 && left.tokens > 0;
}

std::vector<InputId> EmbeddingBatch::next(const Budget& budget) {
  ENSURE(running_.empty(), "a pass of {} inputs has not ended", running_.size());
  took_ = {};
  if (!again_.empty()) {
    running_.push_back(again_.front());
    again_.pop_front();
  } else if (!works_.empty()) {
    fill({.tokens = std::min(budget.tokens, limits_.batch_tokens_max),
          .inputs = inputs_max(budget)});
  }
  std::vector<InputId> pass;
  pass.reserve(running_.size());
  for (const Input& input : running_) {
    pass.push_back(input.id);
    --waiting_;
    waiting_tokens_ -= input.tokens;
  }
  return pass;
}

void EmbeddingBatch::fill(Space left) {
  constexpr std::array kPriorities = {llm::Priority::kInteractive, llm::Priority::kNormal,
                                      llm::Priority::kBatch};
  const auto half = [&] {
    return Space{.tokens = (left.tokens + 1) / 2, .inputs = (left.inputs + 1) / 2};
  };
  bool goes_on = true;
  if (const std::optional<llm::Priority> turn = due_priority())
    goes_on = take(*oldest_of(*turn), half(), left);
  for (const llm::Priority priority : kPriorities) {
    const std::optional<WorkId> oldest = oldest_of(priority);
    if (goes_on && oldest) goes_on = take(*oldest, half(), left);
    while (goes_on) {
      const auto least = by_tokens_.lower_bound({priority, 0, WorkId(0)});
      if (least == by_tokens_.end() || std::get<llm::Priority>(*least) != priority) break;
      goes_on = take(std::get<WorkId>(*least), left, left);
    }
    bypassed_.count(priority, oldest && !took_[static_cast<size_t>(priority)]);
  }
}

bool EmbeddingBatch::failed() {
  const bool had_several = running_.size() > 1;
  if (had_several) {
    again_.insert(again_.begin(), running_.begin(), running_.end());
    for (const Input& input : running_) {
      ++waiting_;
      waiting_tokens_ += input.tokens;
    }
  }
  running_.clear();
  return had_several;
}

void EmbeddingBatch::remove_if(const std::function<bool(InputId)>& predicate) {
  const auto leaves = [&](const Input& input) {
    if (!predicate(input.id)) return false;
    --waiting_;
    waiting_tokens_ -= input.tokens;
    return true;
  };
  std::erase_if(again_, leaves);
  for (auto entry = works_.begin(); entry != works_.end();) {
    auto& [id, work] = *entry;
    unfile(id, work);
    std::erase_if(work.inputs, [&](const Input& input) {
      if (!leaves(input)) return false;
      work.tokens -= input.tokens;
      work_of_.erase(input.id);
      return true;
    });
    if (work.inputs.empty()) {
      entry = works_.erase(entry);
    } else {
      file(id, work);
      ++entry;
    }
  }
}

}  // namespace windrow::engine
