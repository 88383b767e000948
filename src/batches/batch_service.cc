#include "batches/batch_service.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <filesystem>
#include <set>
#include <system_error>
#include <variant>

#include "base/ensure.h"
#include "batch/input.h"
#include "batches/tally.h"
#include "batches/validate.h"

namespace windrow::batches {
namespace {

// How often the clock is looked at: it can wake nobody.
constexpr std::chrono::milliseconds kLookInterval(100);

// How often files are looked at whose time may be over.
constexpr Duration kSweepInterval = std::chrono::seconds(60);

// A bound of what can wait; who has more of them makes larger ones.
constexpr size_t kUnfinishedMax = 10'000;

constexpr size_t kKeyBytesMax = 255;

llm::Failure refused(int32_t status, std::string code, std::string message, std::string param) {
  return {.failure_class = llm::FailureClass::kRequest,
          .status = status,
          .code = std::move(code),
          .message = std::move(message),
          .param = std::move(param)};
}

// What clients are told of it.
std::string note_of(const Error& error) {
  switch (error.kind) {
    case ErrorKind::kDiskFull:
      return "the server's disk is full; the batch goes on by itself when there is room";
    case ErrorKind::kUnavailable:
    case ErrorKind::kNoSpace:
      return error.message + "; the batch goes on by itself when that changes";
    case ErrorKind::kNotFound:
      return "the bytes of the input file are gone; cancel the batch and upload the file again";
    default:
      return "the server could not read or write what it keeps (its log says why); it tries again";
  }
}

}  // namespace

// --- from the outside
// -----------------------------------------------------------------------------

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
  if (!done) return of_storage(done.error());
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
  if (!found) return of_storage(found.error());
  if (!*found || !viewer.sees((*found)->owner)) return not_found("batch", id);
  return BatchView{.record = **std::move(found), .note = {}};
}

Reply<BatchPage> BatchService::list(const Viewer& viewer, const BatchQuery& query) {
  constexpr int64_t kListMax = 100;
  if (query.limit < 1 || query.limit > kListMax)
    return invalid(fmt::format("limit must be a number from 1 to {}", kListMax), "limit");
  Result<std::optional<std::vector<BatchRecord>>> found = table_.list(viewer, query);
  if (!found) return of_storage(found.error());
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
    if (!changed) return of_storage(changed.error());
    if (*changed) {
      live->not_before.reset();
      live->note.clear();
      if (live->job) live->job->stop();
      if (live->lines) live->lines->interrupt();
      changed_.notify_all();
    }
    if (live->record.state.status == BatchStatus::kCancelling) return view(*live);
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

// --- with the lock
// ----------------------------------------------------------------------------------

// In the database first: what nobody can lose any more is what clients are told. False: the event
// changes nothing.
Result<bool> BatchService::apply(Live& live, BatchEvent event, const Change& change) {
  const std::optional<BatchState> state = after(live.record.state, event, clock_.unix_seconds());
  if (!state) return false;
  BatchRecord record = live.record;
  record.state = *state;
  if (change) change(record);
  if (Result<void> updated = table_.update(record); !updated) return updated.error();
  figures_.moved(live.record.state.status, record.state.status);
  live.record = std::move(record);
  return true;
}

BatchView BatchService::view(const Live& live) const {
  BatchView view{.record = live.record, .note = live.note};
  if (!live.job) return view;
  view.record.counts = live.job->counts();
  // Its rows wait where they are.
  if (const std::string why = models_->unavailable(); !why.empty())
    view.note = note_of({ErrorKind::kUnavailable, why});
  return view;
}

BatchService::LivePtr BatchService::find_live(std::string_view id) const {
  const auto found =
      std::ranges::find_if(live_, [&](const auto& entry) { return entry.second->record.id == id; });
  return found == live_.end() ? nullptr : found->second;
}

void BatchService::hold_back(Live& live, const Error& error) {
  std::string note = note_of(error);
  if (note != live.note) options_.warn(fmt::format("{} waits: {}", live.record.id, error.message));
  live.note = std::move(note);
  live.not_before = clock_.now() + options_.retry_after;
}

void BatchService::look_at_time() {
  const int64_t now = clock_.unix_seconds();
  for (const auto& [number, live] : live_) {
    if (live->record.state.status != BatchStatus::kInProgress ||
        now < live->record.state.expires_at)
      continue;
    if (live->not_before && clock_.now() < *live->not_before) continue;
    const Result<bool> changed = apply(*live, BatchEvent::kTimeOver);
    if (!changed) {
      hold_back(*live, changed.error());
      continue;
    }
    live->not_before.reset();
    live->note.clear();
    if (live->job) live->job->stop();
  }
}

// The oldest, of models that no other one runs on where there is such a one.
BatchService::LivePtr BatchService::next_to_run() const {
  std::set<std::string> busy;
  for (const auto& [number, live] : live_) {
    if (live->counts_as_running)
      busy.insert(live->record.models.begin(), live->record.models.end());
  }
  LivePtr first;
  for (const auto& [number, live] : live_) {
    if (live->working || live->record.state.status != BatchStatus::kInProgress) continue;
    if (live->not_before && clock_.now() < *live->not_before) continue;
    const bool shares = std::ranges::any_of(
        live->record.models, [&](const std::string& model) { return busy.contains(model); });
    if (!shares) return live;
    if (!first) first = live;
  }
  return first;
}

void BatchService::begin_what_can() {
  int32_t running = 0;
  for (const auto& [number, live] : live_) {
    if (live->counts_as_running) ++running;
  }
  for (const auto& [number, live] : live_) {
    if (live->working || (live->not_before && clock_.now() < *live->not_before)) continue;
    const BatchStatus status = live->record.state.status;
    if (status == BatchStatus::kValidating && !validating_) {
      validating_ = true;
      begin(live, &BatchService::validate);
    }
    if (status == BatchStatus::kFinalizing || status == BatchStatus::kCancelling)
      begin(live, &BatchService::close);
  }
  for (; running < options_.running_max; ++running) {
    const LivePtr next = next_to_run();
    if (!next) return;
    next->counts_as_running = true;
    begin(next, &BatchService::run_rows);
  }
}

void BatchService::begin(const LivePtr& live, void (BatchService::*work)(const LivePtr&)) {
  live->working = true;
  Worker& worker = workers_.emplace_back();
  worker.thread = std::thread([this, live, work, &worker] {
    // Nobody foresaw it, so nothing is known of what it left undone: the process ends, and what is
    // on disk is what the next one goes on from.
    try {
      (this->*work)(live);
    } catch (const std::exception& error) {
      ENSURE(false, "the thread of a batch ended early: {}", error.what());
    }
    const std::scoped_lock lock(mutex_);
    live->working = false;
    if (is_final(live->record.state.status)) live_.erase(live->record.number);
    worker.ended = true;
    changed_.notify_all();
  });
}

// --- threads
// ------------------------------------------------------------------------------------------

void BatchService::look() {
  for (;;) {
    bool sweep = false;
    {
      std::unique_lock lock(mutex_);
      if (stopping_) return;
      look_at_time();
      begin_what_can();
      const TimePoint now = clock_.now();
      sweep = !swept_at_ || now - *swept_at_ >= kSweepInterval;
      if (sweep) swept_at_ = now;
      changed_.wait_for(lock, kLookInterval);
    }
    join_ended();
    if (!sweep) continue;
    if (const Result<int64_t> gone = files_.remove_expired(); !gone)
      options_.warn(gone.error().message);
  }
}

void BatchService::join_ended() {
  std::list<Worker> ended;
  {
    const std::scoped_lock lock(mutex_);
    for (auto worker = workers_.begin(); worker != workers_.end();) {
      const auto next = std::next(worker);
      if (worker->ended) ended.splice(ended.end(), workers_, worker);
      worker = next;
    }
  }
  for (Worker& worker : ended)
    worker.thread.join();
}

BatchJob::World BatchService::world() const {
  return {.disk = disk_, .clock = clock_, .data = data_, .warn = options_.warn};
}

Result<StoredFile> BatchService::input_of(const BatchRecord& record) {
  Reply<FileContent> content =
      files_.open_content({.key = {}, .sees_all = true}, record.request.input_file_id);
  if (const auto* failure = std::get_if<llm::Failure>(&content)) {
    return Error{failure->status == 404 ? ErrorKind::kNotFound : ErrorKind::kIo, failure->message};
  }
  return std::get<FileContent>(std::move(content)).file;
}

BatchRecord BatchService::record_of(const LivePtr& live) const {
  const std::scoped_lock lock(mutex_);
  return live->record;
}

void BatchService::validate(const LivePtr& live) {
  const Result<void> read = read_input(live);
  const std::scoped_lock lock(mutex_);
  validating_ = false;
  live->lines.reset();
  if (!read) hold_back(*live, read.error());
}

Result<void> BatchService::read_input(const LivePtr& live) {
  const BatchRecord record = record_of(live);
  const Result<StoredFile> file = input_of(record);
  if (!file) return file.error();
  const Result<std::unique_ptr<batch::Input>> input = batch::open_input(data_.at(file->place));
  if (!input) return input.error();
  Result<std::unique_ptr<batch::ByteSource>> bytes = (*input)->open();
  if (!bytes) return bytes.error();
  const std::shared_ptr<batch::LineSource> lines =
      batch::make_line_source(*std::move(bytes), file->id);
  {
    const std::scoped_lock lock(mutex_);
    live->lines = lines;
    if (stopping_ || live->record.state.status != BatchStatus::kValidating) return {};
  }
  const llm::Endpoint endpoint = record.request.endpoint;
  const ValidationRules rules{
      .endpoint = endpoint,
      .rows_max = options_.rows_max,
      .mixed_models = options_.mixed_models,
      .refuse_model = [&](const std::string& name) -> std::optional<llm::Failure> {
        auto found = models_->find(endpoint, name);
        if (auto* failure = std::get_if<llm::Failure>(&found)) return std::move(*failure);
        return std::nullopt;
      }};
  auto checked = batches::validate(*lines, rules);
  if (!checked) return checked.error();
  const std::scoped_lock lock(mutex_);
  if (stopping_) return {};  // it may have been cut off in the middle
  Result<bool> changed = false;
  if (auto* good = std::get_if<CheckedInput>(&*checked)) {
    changed = apply(*live, BatchEvent::kChecked, [&](BatchRecord& checked_record) {
      checked_record.models = std::move(good->models);
      checked_record.counts.total = good->rows;
    });
  } else {
    changed = apply(*live, BatchEvent::kFaulty, [&](BatchRecord& faulty) {
      faulty.faults = std::move(std::get<std::vector<BatchFault>>(*checked));
    });
  }
  if (!changed) return changed.error();
  return {};
}

void BatchService::run_rows(const LivePtr& live) {
  const BatchRecord record = record_of(live);
  std::shared_ptr<BatchJob> job;
  const Result<RowsEnd> end = [&]() -> Result<RowsEnd> {
    const Result<StoredFile> input = input_of(record);
    if (!input) return input.error();
    if (const std::string why = models_->unavailable(); !why.empty())
      return Error{ErrorKind::kUnavailable, why};
    job = std::make_shared<BatchJob>(world(), record, input->place);
    {
      const std::scoped_lock lock(mutex_);
      live->job = job;
      live->note.clear();
      figures_.began(record.number, job, record.counts);
      if (stopping_ || live->record.state.status != BatchStatus::kInProgress) job->stop();
    }
    return job->run(*models_);
  }();
  const std::scoped_lock lock(mutex_);
  live->counts_as_running = false;
  live->job.reset();
  if (job) {
    figures_.ended(record.number);
    live->record.counts = job->counts();
  }
  if (!end) return hold_back(*live, end.error());
  if (*end == RowsEnd::kPaused) {
    return hold_back(
        *live, Error{ErrorKind::kUnavailable, "the servers that have the model cannot be reached"});
  }
  if (*end == RowsEnd::kStopped) return;
  if (const Result<bool> changed = apply(*live, BatchEvent::kRowsEnded); !changed)
    hold_back(*live, changed.error());
}

// What came of its rows becomes files, and it has ended.
void BatchService::close(const LivePtr& live) {
  const BatchRecord record = record_of(live);
  const Result<void> made = [&]() -> Result<void> {
    if (!record.state.time_over) return make_files(live);
    const Result<StoredFile> input = input_of(record);
    if (!input) return input.error();
    const auto job = std::make_shared<BatchJob>(world(), record, input->place);
    {
      const std::scoped_lock lock(mutex_);
      live->job = job;
      figures_.began(record.number, job, record.counts);
      if (stopping_) job->stop();
    }
    const Result<RowsEnd> end = job->run_expired();
    {
      const std::scoped_lock lock(mutex_);
      figures_.ended(record.number);
      live->job.reset();
    }
    if (!end) return end.error();
    return *end == RowsEnd::kAll ? make_files(live) : Result<void>();
  }();
  if (made) return;
  const std::scoped_lock lock(mutex_);
  hold_back(*live, made.error());
}

Result<void> BatchService::make_files(const LivePtr& live) {
  const BatchRecord before = record_of(live);
  const std::string& id = before.id;
  const std::string results = results_place(id);
  const std::string errors = errors_place(id);
  const Result<BatchTally> sums = tally(disk_, data_.at(results), data_.at(errors));
  if (!sums) return sums.error();
  const std::scoped_lock lock(mutex_);
  const std::string& owner = before.owner;
  const std::optional<int64_t> kept_s = before.request.output_expires_after_s;
  const Result<void> done = data_.database().transaction([&]() -> Result<void> {
    std::optional<std::string> output_id;
    std::optional<std::string> error_id;
    if (sums->results_bytes > 0) {
      const auto file =
          files_.add_output(owner, id + "_output.jsonl", results, sums->results_bytes, kept_s);
      if (!file) return file.error();
      output_id = file->id;
    }
    if (sums->errors_bytes > 0) {
      const auto file =
          files_.add_output(owner, id + "_error.jsonl", errors, sums->errors_bytes, kept_s);
      if (!file) return file.error();
      error_id = file->id;
    }
    const Result<bool> changed = apply(*live, BatchEvent::kFilesMade, [&](BatchRecord& record) {
      record.counts.completed = sums->completed;
      record.counts.failed = sums->failed;
      record.usage = sums->usage;
      record.output_file_id = output_id;
      record.error_file_id = error_id;
    });
    if (!changed) return changed.error();
    return {};
  });
  if (!done) {
    figures_.moved(live->record.state.status, before.state.status);
    live->record = before;
    return done;
  }
  files_.grew((sums->results_bytes > 0 ? 1 : 0) + (sums->errors_bytes > 0 ? 1 : 0),
              sums->results_bytes + sums->errors_bytes);
  std::error_code ignored;
  if (sums->results_bytes + sums->errors_bytes == 0)
    std::filesystem::remove_all(data_.at(batch_place(id)), ignored);
  return {};
}

}  // namespace windrow::batches
