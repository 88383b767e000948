#include "batches/batch_service.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "base/ensure.h"

namespace windrow::batches {
namespace {

// Bounds on unfinished batches, of all keys together and of one key.
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
      table_(data.database()),
      live_(table_, clock, options_) {}

Result<std::unique_ptr<BatchService>> BatchService::open(DataDir& data, FileStore& files,
                                                         store::Disk& disk, const Clock& clock,
                                                         BatchOptions options) {
  auto service =
      std::unique_ptr<BatchService>(new BatchService(data, files, disk, clock, std::move(options)));
  if (Result<void> loaded = service->live_.load(); !loaded) return loaded.error();
  return service;
}

BatchService::~BatchService() {
  stop(Duration{});
}

void BatchService::start(dispatch::Models& models) {
  {
    const LiveBatches::Lock lock = live_.lock();
    ENSURE(models_ == nullptr, "batches are started once");
    models_ = &models;
  }
  runner_ = std::make_unique<BatchRunner>(BatchStages::World{.data = data_,
                                                             .files = files_,
                                                             .disk = disk_,
                                                             .clock = clock_,
                                                             .options = options_,
                                                             .models = models,
                                                             .live = live_});
}

void BatchService::stop(Duration grace) {
  if (runner_) return runner_->stop(grace);
  (void)live_.begin_stop(live_.lock());
}

// One of the batch's models that is not loaded and that its rows wait for; empty if there is none.
std::string BatchService::awaited_model(const BatchRecord& record) const {
  for (const std::string& model : record.models) {
    if (models_->is_waited_for(model)) return model.empty() ? "of its rows" : model;
  }
  return "";
}

BatchView BatchService::view(const LiveBatches::Lock&, const LiveBatch& batch) const {
  BatchView view{.record = batch.record, .note = batch.note};
  if (batch.record.state.status == BatchStatus::kInProgress && live_.lacks_key(batch.record)) {
    view.note = fmt::format(
        "the key {} was revoked: the batch continues once the key exists again, or can be "
        "cancelled",
        batch.record.owner);
  }
  if (!batch.job) return view;
  view.record.counts = LiveBatches::counts_of(batch);
  view.progress = live_.progress(batch.record.number);
  if (view.progress) view.record.usage = view.progress->usage;
  if (!view.note.empty()) return view;
  if (batch.job->waits_for_tokens()) {
    view.note = "its key has used up its tokens for this minute";
  } else if (const std::string why = models_->unavailable(); !why.empty()) {
    view.note = note_of({ErrorKind::kUnavailable, why});
  } else if (const std::string model = awaited_model(batch.record); !model.empty()) {
    view.note = fmt::format(
        "the model {} is not loaded; it is loaded as soon as the models that clients use leave "
        "enough memory",
        model);
  }
  return view;
}

std::optional<llm::Failure> BatchService::refuse_more(const LiveBatches::Lock& lock,
                                                      const Viewer& owner) const {
  const auto& all = live_.all(lock);
  if (all.size() >= kUnfinishedMax) {
    return refused(429, "too_many_batches",
                   fmt::format("{} batches have not ended; wait for some of them", all.size()), "");
  }
  const int64_t of_key = std::ranges::count_if(
      all, [&](const auto& entry) { return entry.second->record.owner == owner.key; });
  if (owner.key.empty() || of_key < kUnfinishedOfKeyMax) return std::nullopt;
  return refused(
      429, "too_many_batches",
      fmt::format("{} batches of this key have not ended; wait for some of them, or make "
                  "larger ones",
                  of_key),
      "");
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
  const LiveBatches::Lock lock = live_.lock();
  if (auto refusal = refuse_more(lock, owner)) return *std::move(refusal);
  // One transaction, so that the file cannot be deleted in between.
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
    if (const LiveBatchPtr batch = live_.find(lock, earlier->id)) return view(lock, *batch);
    return BatchView{.record = *std::move(earlier), .note = {}};
  }
  return view(lock, *live_.add(lock, std::move(record)));
}

Reply<BatchView> BatchService::get(const Viewer& viewer, std::string_view id) {
  {
    const LiveBatches::Lock lock = live_.lock();
    if (const LiveBatchPtr batch = live_.find(lock, id)) {
      if (!viewer.sees(batch->record.owner)) return not_found("batch", id);
      return view(lock, *batch);
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
  const LiveBatches::Lock lock = live_.lock();
  for (BatchRecord& record : records) {
    const auto batch = live_.all(lock).find(record.number);
    page.batches.push_back(batch == live_.all(lock).end()
                               ? BatchView{.record = std::move(record), .note = {}}
                               : view(lock, *batch->second));
  }
  return page;
}

Reply<BatchView> BatchService::cancel(const Viewer& viewer, std::string_view id) {
  LiveBatches::Lock lock = live_.lock();
  const LiveBatchPtr batch = live_.find(lock, id);
  if (batch && viewer.sees(batch->record.owner)) {
    const Result<bool> changed = live_.apply(lock, *batch, BatchEvent::kCancel);
    if (!changed) return data_.report(changed.error());
    if (*changed) {
      live_.release(lock, *batch);
      if (batch->job) batch->job->stop();
      if (batch->lines) batch->lines->interrupt();
      live_.notify(lock);
    }
    const BatchStatus status = batch->record.state.status;
    if (status == BatchStatus::kCancelling || status == BatchStatus::kCancelled)
      return view(lock, *batch);
    return refused(400, "batch_not_cancellable",
                   fmt::format("{} is {}: it will have ended in a moment", id,
                               to_string(batch->record.state.status)),
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

}  // namespace windrow::batches
