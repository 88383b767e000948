#include "program/trace/pass_log.h"

#include <utility>

namespace windrow::program {

PassCounts& PassCounts::operator+=(const PassCounts& other) {
  passes += other.passes;
  rows += other.rows;
  width += other.width;
  tokens += other.tokens;
  cached_tokens += other.cached_tokens;
  decoded_tokens += other.decoded_tokens;
  return *this;
}

void PassLog::Count::add(const llm::RowTrace& row, int64_t pass, int64_t width) {
  if (std::exchange(last_pass, pass) != pass) {
    ++counts.passes;
    counts.width += width;
  }
  ++counts.rows;
  counts.tokens += row.tokens;
  counts.cached_tokens += row.cached_tokens;
  if (row.is_decoding) counts.decoded_tokens += row.tokens;
}

PassLog::PassLog(const Clock& clock, size_t passes_max) : clock_(clock), passes_max_(passes_max) {}

void PassLog::observe(const llm::StepReport& step, std::span<const llm::RowTrace> rows) {
  const auto width = static_cast<int64_t>(rows.size());
  const std::scoped_lock lock(mutex_);
  const int64_t pass = ++passes_seen_;
  for (const llm::RowTrace& row : rows) {
    if (row.tag == 0) continue;
    const auto call = calls_.find(row.tag);
    if (call == calls_.end()) continue;  // it has ended, its row leaves before the next pass
    call->second.count.add(row, pass, width);
    const auto instance = instances_.find(call->second.instance);
    if (instance != instances_.end()) instance->second.add(row, pass, width);
  }
  if (passes_max_ == 0) return;
  if (passes_.size() == passes_max_) {
    passes_.pop_front();
    ++lost_;
  }
  LoggedPass& logged = passes_.emplace_back(LoggedPass{.number = pass,
                                                       .end = clock_.now(),
                                                       .duration = step.duration,
                                                       .width = static_cast<int32_t>(width)});
  for (const llm::RowTrace& row : rows) {
    if (row.tag != 0) logged.rows.push_back(row);
  }
}

uint64_t PassLog::begin_call(uint64_t instance) {
  const std::scoped_lock lock(mutex_);
  const uint64_t tag = ++tags_given_;
  calls_.emplace(tag, Call{.instance = instance});
  instances_.try_emplace(instance);
  return tag;
}

PassCounts PassLog::end_call(uint64_t tag) {
  const std::scoped_lock lock(mutex_);
  const auto call = calls_.find(tag);
  if (call == calls_.end()) return {};
  const PassCounts counts = call->second.count.counts;
  calls_.erase(call);
  return counts;
}

PassCounts PassLog::of_instance(uint64_t instance) const {
  const std::scoped_lock lock(mutex_);
  const auto found = instances_.find(instance);
  return found == instances_.end() ? PassCounts{} : found->second.counts;
}

void PassLog::forget(uint64_t instance) {
  const std::scoped_lock lock(mutex_);
  instances_.erase(instance);
}

PassLog::Kept PassLog::kept() const {
  const std::scoped_lock lock(mutex_);
  return {.passes = {passes_.begin(), passes_.end()}, .lost = lost_};
}

}  // namespace windrow::program
