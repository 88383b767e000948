#include "batches/batch_service.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "base/ensure.h"

namespace windrow::batches {
namespace {

// Bounds of what can wait, of all keys and of one; who has more of them makes larger ones.
constexpr size_t kUnfinishedMax = 10'000;
constexpr int64_t kUnfinishedOfKeyMax = 1000;

constexpr size_t kKeyBytesMax = 255;

llm::Failure refused(int32_t status, std::string code, std::string message, std::string param) {
  return {.failure_class = llm::FailureClass::kRequest,
          .status = status,
          .code = std::move(code),
          .message = std::move(message),
          .param = std::move(param)};
}

}  // namespace

BatchService::BatchService(DataDir& data, FileStore& files, store::Disk& disk, const Clock& clock,
                           BatchOptions options)
    : data_(data),
      files_(files),
      disk_(disk),
      clock_(clock),
      options_(std::move(options)),
      table_(data.database()) {}

Result<std::unique_ptr<BatchService>> BatchService::open(DataDir& data, FileStore& files,
                                                         store::Disk& disk, const Clock& clock,
                                                         BatchOptions options) {
  auto service =
      std::unique_ptr<BatchService>(new BatchService(data, files, disk, clock, std::move(options)));
  std::vector<std::string> warnings;
  Result<std::vector<BatchRecord>> records =
      service->table_.unfinished(clock.unix_seconds(), warnings);
  for (const std::string& warning : warnings)
    service->options_.warn(warning);
  if (!records) return records.error();
  const auto counts = service->table_.counts();
  if (!counts) return counts.error();
  for (const auto& [status, count] : *counts)
    service->figures_.add(status, count);
  for (BatchRecord& record : *records) {
    const int64_t number = record.number;
    service->live_[number] = std::make_shared<Live>(Live{.record = std::move(record)});
  }
  return service;
}

BatchService::~BatchService() {
  stop(Duration{});
}

void BatchService::start(BatchModels& models) {
  const std::scoped_lock lock(mutex_);
  ENSURE(models_ == nullptr, "batches are started once");
  models_ = &models;
  looker_ = std::thread([this] { look(); });
}

std::optional<llm::Failure> BatchService::check_input(const Viewer& owner,
                                                      const BatchRequest& request) {
  const Reply<StoredFile> file = files_.get(owner, request.input_file_id);
  if (const auto* failure = std::get_if<llm::Failure>(&file)) {
    if (failure->status != 404) return *failure;
    return refused(400, "file_not_found", failure->message, "input_file_id");
  }
  const std::string& purpose = std::get<StoredFile>(file).purpose;
  if (purpose == "batch") return std::nullopt;
  return refused(400, "invalid_value",
                 fmt::format("{} has the purpose {}; the input of a batch is uploaded with purpose "
                             "\"batch\"",
                             request.input_file_id, purpose),
                 "input_file_id");
}

Reply<BatchView> BatchService::create(const Viewer& owner, const BatchRequest& request,
                                      const std::string& idempotency_key) {
  if (idempotency_key.size() > kKeyBytesMax) {
    return invalid(fmt::format("Idempotency-Key is longer than {} bytes", kKeyBytesMax),
                   "Idempotency-Key");
  }
  const int64_t now = clock_.unix_seconds();
  BatchRecord record{.id = new_batch_id(),
                     .owner = owner.key,
                     .request = request,
                     .state = {.created_at = now, .expires_at = now + request.window_s},
                     .body_defaults = options_.body_defaults,
                     .idempotency_key = idempotency_key};
  const std::scoped_lock lock(mutex_);
  if (live_.size() >= kUnfinishedMax) {
    return refused(429, "too_many_batches",
                   fmt::format("{} batches have not ended; wait for some of them", live_.size()),
                   "");
  }
  const int64_t of_key = std::ranges::count_if(
      live_, [&](const auto& one) { return one.second->record.owner == owner.key; });
  if (!owner.key.empty() && of_key >= kUnfinishedOfKeyMax) {
    return refused(429, "too_many_batches",
                   fmt::format("{} batches of this key have not ended; wait for some of them, or "
                               "make larger ones",
                               of_key),
                   "");
  }
  // In one transaction, so that nobody deletes the file in between.
  std::optional<llm::Failure> failure;
  std::optional<BatchRecord> earlier;
  const Result<void> done = data_.database().transaction([&]() -> Result<void> {
    if (!idempotency_key.empty()) {
      Result<std::optional<BatchRecord>> found = table_.find_by_key(owner.key, idempotency_key);
      if (!found) return found.error();
      earlier = *std::move(found);
      if (earlier) return {};
    }
    failure = check_input(owner, request);
    return failure ? Result<void>() : table_.insert(record);
  });
  if (!done) return data_.report(done.error());
  if (failure) return *std::move(failure);
  if (earlier) {
    if (earlier->request != request) {
      return refused(400, "idempotency_key_reused",
                     fmt::format("this Idempotency-Key made {}, which asks for something else; use "
                                 "another key",
                                 earlier->id),
                     "Idempotency-Key");
    }
    if (const LivePtr live = find_live(earlier->id)) return view(*live);
    return BatchView{.record = *std::move(earlier), .note = {}};
  }
  const auto live = std::make_shared<Live>(Live{.record = record});
  live_[record.number] = live;
  figures_.add(record.state.status);
  changed_.notify_all();
  return view(*live);
}

Reply<BatchView> BatchService::get(const Viewer& viewer, std::string_view id) {
  {
    const std::scoped_lock lock(mutex_);
    if (const LivePtr live = find_live(id)) {
      if (!viewer.sees(live->record.owner)) return not_found("batch", id);
      return view(*live);
    }
  }
  Result<std::optional<BatchRecord>> found = table_.find(id);
  if (!found) return data_.report(found.error());
  if (!*found || !viewer.sees((*found)->owner)) return not_found("batch", id);
  return BatchView{.record = **std::move(found), .note = {}};
}

Reply<BatchPage> BatchService::list(const Viewer& viewer, const BatchQuery& query) {
  constexpr int64_t kListMax = 100;
  if (query.limit < 1 || query.limit > kListMax)
    return invalid(fmt::format("limit must be a number from 1 to {}", kListMax), "limit");
  Result<std::optional<std::vector<BatchRecord>>> found = table_.list(viewer, query);
  if (!found) return data_.report(found.error());
  if (!*found)
    return invalid(fmt::format("there is no batch {}", query.after.substr(0, 80)), "after");
  std::vector<BatchRecord>& records = **found;
  BatchPage page;
  page.has_more = static_cast<int64_t>(records.size()) > query.limit;
  if (page.has_more) records.pop_back();
  const std::scoped_lock lock(mutex_);
  for (BatchRecord& record : records) {
    const auto live = live_.find(record.number);
    page.batches.push_back(live == live_.end() ? BatchView{.record = std::move(record), .note = {}}
                                               : view(*live->second));
  }
  return page;
}

Reply<BatchView> BatchService::cancel(const Viewer& viewer, std::string_view id) {
  std::unique_lock lock(mutex_);
  const LivePtr live = find_live(id);
  if (live && viewer.sees(live->record.owner)) {
    const Result<bool> changed = apply(*live, BatchEvent::kCancel);
    if (!changed) return data_.report(changed.error());
    if (*changed) {
      live->not_before.reset();
      live->note.clear();
      if (live->job) live->job->stop();
      if (live->lines) live->lines->interrupt();
      changed_.notify_all();
    }
    const BatchStatus status = live->record.state.status;
    if (status == BatchStatus::kCancelling || status == BatchStatus::kCancelled) return view(*live);
    return refused(400, "batch_not_cancellable",
                   fmt::format("{} is {}: it will have ended in a moment", id,
                               to_string(live->record.state.status)),
                   "id");
  }
  lock.unlock();
  Reply<BatchView> ended = get(viewer, id);
  const auto* found = std::get_if<BatchView>(&ended);
  if (found == nullptr || found->record.state.status == BatchStatus::kCancelled) return ended;
  return refused(400, "batch_not_cancellable",
                 fmt::format("{} is {} and cannot be cancelled any more", id,
                             to_string(found->record.state.status)),
                 "id");
}

void BatchService::stop(Duration grace) {
  std::vector<std::shared_ptr<BatchJob>> jobs;
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
    for (const auto& [number, live] : live_) {
      if (live->lines) live->lines->interrupt();
      if (live->job) jobs.push_back(live->job);
    }
    changed_.notify_all();
  }
  for (const auto& job : jobs)
    job->stop();
  if (looker_.joinable()) looker_.join();
  {
    const TimePoint grace_over = clock_.now() + grace;
    std::unique_lock lock(mutex_);
    const auto all_ended = [this] {
      return std::ranges::all_of(workers_, [](const Worker& worker) { return worker.ended; });
    };
    while (!all_ended() && clock_.now() < grace_over)
      changed_.wait_for(lock, kLookInterval, all_ended);
    lock.unlock();
    for (const auto& job : jobs)
      job->stop_now();
    lock.lock();
    changed_.wait(lock, all_ended);
  }
  join_ended();
}

}  // namespace windrow::batches
