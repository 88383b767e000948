#include "batches/live_batches.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace windrow::batches {

BatchProgress BatchCounters::progress_of(const Running& running) {
  report::Progress with_now = running.progress;
  with_now.observe(running.job->reading());
  const report::ProgressNumbers numbers = with_now.numbers();
  return {.rows_per_s = numbers.rows_per_s,
          .output_tokens_per_s = numbers.generated_tokens_per_s,
          .elapsed = numbers.elapsed,
          .left = numbers.left,
          .usage = running.job->usage(),
          .failures = running.job->failures()};
}

std::vector<RunningBatch> BatchCounters::running(std::optional<std::string_view> owner) const {
  const std::scoped_lock lock(mutex_);
  std::vector<RunningBatch> list;
  for (const auto& [number, running] : running_) {
    const BatchRecord& record = running.record;
    if (owner && record.owner != *owner) continue;
    list.push_back({.id = record.id,
                    .owner = record.owner,
                    .url = std::string(url_of(record.request)),
                    .models = record.models,
                    .counts = running.job->counts(),
                    .progress = progress_of(running)});
  }
  return list;
}

Result<void> LiveBatches::load() {
  std::vector<std::string> warnings;
  Result<std::vector<BatchRecord>> records = table_.unfinished(clock_.unix_seconds(), warnings);
  for (const std::string& warning : warnings)
    options_.warn(warning);
  if (!records) return records.error();
  const auto counts = table_.counts();
  if (!counts) return counts.error();
  for (const auto& [status, count] : *counts)
    counters_.add(status, count);
  for (BatchRecord& record : *records) {
    const int64_t number = record.number;
    batches_[number] = std::make_shared<LiveBatch>(LiveBatch{.record = std::move(record)});
  }
  return {};
}

LiveBatchPtr LiveBatches::find(const Lock&, std::string_view id) const {
  const auto found = std::ranges::find_if(
      batches_, [&](const auto& entry) { return entry.second->record.id == id; });
  return found == batches_.end() ? nullptr : found->second;
}

LiveBatchPtr LiveBatches::add(const Lock&, BatchRecord record) {
  counters_.add(record.state.status);
  const int64_t number = record.number;
  const auto batch = std::make_shared<LiveBatch>(LiveBatch{.record = std::move(record)});
  batches_[number] = batch;
  changed_.notify_all();
  return batch;
}

void LiveBatches::remove_if_ended(const Lock&, const LiveBatch& batch) {
  if (is_final(batch.record.state.status)) batches_.erase(batch.record.number);
}

Result<bool> LiveBatches::apply(const Lock&, LiveBatch& batch, BatchEvent event,
                                const Change& change) {
  const std::optional<BatchState> state = after(batch.record.state, event, clock_.unix_seconds());
  if (!state) return false;
  BatchRecord record = batch.record;
  record.state = *state;
  if (change) change(record);
  if (Result<void> updated = table_.update(record); !updated) return updated.error();
  counters_.moved(batch.record.state.status, record.state.status);
  batch.record = std::move(record);
  return true;
}

void LiveBatches::restore(const Lock&, LiveBatch& batch, const BatchRecord& before) {
  counters_.moved(batch.record.state.status, before.state.status);
  batch.record = before;
}

void LiveBatches::hold_back(const Lock&, LiveBatch& batch, const Error& error) {
  std::string note = note_of(error);
  if (note != batch.note)
    options_.warn(fmt::format("{} waits: {}", batch.record.id, error.message));
  batch.note = std::move(note);
  batch.not_before = clock_.now() + options_.retry_after;
}

void LiveBatches::release(const Lock&, LiveBatch& batch) {
  batch.not_before.reset();
  batch.note.clear();
}

void LiveBatches::job_began(const Lock&, LiveBatch& batch, std::shared_ptr<BatchJob> job) {
  counters_.began(batch.record, job);
  batch.job = std::move(job);
}

void LiveBatches::job_ended(const Lock&, LiveBatch& batch) {
  counters_.ended(batch.record.number);
  batch.job.reset();
}

RequestCounts LiveBatches::counts_of(const LiveBatch& batch) {
  const RequestCounts now = batch.job->counts();
  const RequestCounts& known = batch.record.counts;
  return {.total = std::max(now.total, known.total),
          .completed = std::max(now.completed, known.completed),
          .failed = std::max(now.failed, known.failed)};
}

void LiveBatches::save_counts(const Lock&, LiveBatch& batch) {
  batch.record.counts = counts_of(batch);
  batch.record.usage = batch.job->usage();
  (void)table_.update(batch.record);
}

void LiveBatches::save_all_counts(const Lock&) {
  for (const auto& [number, batch] : batches_) {
    if (!batch->job) continue;
    const RequestCounts counts = counts_of(*batch);
    if (counts == batch->record.counts) continue;
    BatchRecord record = batch->record;
    record.counts = counts;
    record.usage = batch->job->usage();
    if (table_.update(record)) batch->record = std::move(record);
  }
}

void LiveBatches::expire_overdue(const Lock& lock) {
  const int64_t now = clock_.unix_seconds();
  for (const auto& [number, batch] : batches_) {
    const BatchState& state = batch->record.state;
    if (state.status != BatchStatus::kInProgress || now < state.expires_at) continue;
    if (batch->not_before && clock_.now() < *batch->not_before) continue;
    const Result<bool> changed = apply(lock, *batch, BatchEvent::kTimeOver);
    if (!changed) {
      hold_back(lock, *batch, changed.error());
      continue;
    }
    release(lock, *batch);
    if (batch->job) batch->job->stop();
  }
}

std::vector<std::shared_ptr<BatchJob>> LiveBatches::begin_stop(const Lock&) {
  stopping_ = true;
  std::vector<std::shared_ptr<BatchJob>> jobs;
  for (const auto& [number, batch] : batches_) {
    if (batch->lines) batch->lines->interrupt();
    if (batch->job) jobs.push_back(batch->job);
  }
  changed_.notify_all();
  return jobs;
}

BatchRecord LiveBatches::record_of(const LiveBatch& batch) const {
  const std::scoped_lock lock(mutex_);
  return batch.record;
}

bool LiveBatches::lacks_key(const BatchRecord& record) const {
  return options_.keys != nullptr && !record.owner.empty() && !options_.keys->knows(record.owner);
}

std::string note_of(const Error& error) {
  switch (error.kind) {
    case ErrorKind::kDiskFull:
      return "the server's disk is full; the batch continues by itself once there is room";
    case ErrorKind::kUnavailable:
    case ErrorKind::kNoSpace:
      return error.message + "; the batch continues by itself once that changes";
    case ErrorKind::kNotFound:
      return "the bytes of the input file are gone; cancel the batch and upload the file again";
    default:
      return "the server could not read or write its data (its log says why); it tries again";
  }
}

}  // namespace windrow::batches
