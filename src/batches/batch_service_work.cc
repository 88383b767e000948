// How batches go on: what becomes of one, and the threads that validate, run and close them.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <filesystem>
#include <iterator>
#include <system_error>
#include <utility>
#include <variant>

#include "base/ensure.h"
#include "base/uncaught.h"
#include "batch/input.h"
#include "batches/batch_service.h"
#include "batches/validate.h"

namespace windrow::batches {
namespace {

// How often files are looked at whose time may be over.
constexpr Duration kSweepInterval = std::chrono::seconds(60);

// How often the counts of batches that run are put into the database.
constexpr Duration kNoteInterval = std::chrono::seconds(5);

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

Error nobody_is_there() {
  return {ErrorKind::kUnavailable, "the servers that have the model cannot be reached"};
}

}  // namespace

// --- with the lock -----------------------------------------------------------------------------

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
  if (live.record.state.status == BatchStatus::kInProgress && lacks_its_key(live.record)) {
    view.note = fmt::format(
        "the key {} is not there any more: it goes on when that is, or somebody may cancel it",
        live.record.owner);
  }
  if (!live.job) return view;
  view.record.counts = counts_of(live);
  if (!view.note.empty()) return view;
  // Its rows wait where they are.
  if (live.job->waits_for_tokens()) {
    view.note = "its key has no tokens left for it in this minute";
  } else if (const std::string why = models_->unavailable(); !why.empty()) {
    view.note = note_of({ErrorKind::kUnavailable, why});
  } else if (const std::string model = waited_for(live.record); !model.empty()) {
    view.note = fmt::format(
        "the model {} is not loaded: it is as soon as those that clients use leave room for it",
        model);
  }
  return view;
}

// A job that was begun again first reads what was done; until then what was known counts.
RequestCounts BatchService::counts_of(const Live& live) {
  const RequestCounts now = live.job->counts();
  const RequestCounts& known = live.record.counts;
  return {.total = std::max(now.total, known.total),
          .completed = std::max(now.completed, known.completed),
          .failed = std::max(now.failed, known.failed)};
}

// Now and then, so that a restart begins with what clients were told. Nothing is lost where it
// cannot be written: the logs know better.
void BatchService::note_counts() {
  const TimePoint now = clock_.now();
  if (noted_at_ && now - *noted_at_ < kNoteInterval) return;
  noted_at_ = now;
  for (const auto& [number, live] : live_) {
    if (!live->job) continue;
    const RequestCounts counts = counts_of(*live);
    if (counts == live->record.counts) continue;
    BatchRecord record = live->record;
    record.counts = counts;
    if (table_.update(record)) live->record = std::move(record);
  }
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

void BatchService::begin(const LivePtr& live, void (BatchService::*work)(const LivePtr&)) {
  live->working = true;
  Worker& worker = workers_.emplace_back();
  worker.thread = std::thread([this, live, work, &worker] {
    // The process ends, and what is on disk is what the next one continues from.
    try {
      (this->*work)(live);
    } catch (const std::exception& error) {
      end_on(error, "the thread of a batch");
    }
    const std::scoped_lock lock(mutex_);
    live->working = false;
    if (is_final(live->record.state.status)) live_.erase(live->record.number);
    worker.ended = true;
    changed_.notify_all();
  });
}

// --- threads -----------------------------------------------------------------------------------

void BatchService::look() {
  for (;;) {
    bool sweep = false;
    {
      std::unique_lock lock(mutex_);
      if (stopping_) return;
      look_at_time();
      note_counts();
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
  return {.disk = disk_,
          .clock = clock_,
          .data = data_,
          .warn = options_.warn,
          .keys = options_.keys,
          .unknown_fields = options_.unknown_fields,
          .apis = options_.apis};
}

Result<StoredFile> BatchService::input_of(const BatchRecord& record) {
  Reply<FileContent> content = files_.open_input(record.request.input_file_id);
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
  validating_.reset();
  live->lines.reset();
  live->turn_over = false;
  if (!read) hold_back(*live, read.error());
}

Result<void> BatchService::read_input(const LivePtr& live) {
  const BatchRecord record = record_of(live);
  const Result<StoredFile> file = input_of(record);
  if (!file && file.error().kind == ErrorKind::kNotFound) {
    const std::scoped_lock lock(mutex_);
    const Result<bool> changed = apply(*live, BatchEvent::kFaulty, [&](BatchRecord& faulty) {
      faulty.faults = {{.code = "file_bytes_missing", .message = file.error().message}};
    });
    if (!changed) return changed.error();
    return {};
  }
  if (!file) return file.error();
  const Result<std::unique_ptr<batch::Input>> input = batch::open_input(data_.at(file->place));
  if (!input) return input.error();
  Result<std::unique_ptr<batch::ByteSource>> bytes = (*input)->open();
  if (!bytes) return bytes.error();
  const std::shared_ptr<batch::LineSource> lines = batch::make_line_source(
      *std::move(bytes), file->id, {.text_bytes_max = options_.text_bytes_max});
  {
    const std::scoped_lock lock(mutex_);
    live->lines = lines;
    if (stopping_ || live->record.state.status != BatchStatus::kValidating) return {};
  }
  const llm::Endpoint endpoint = record.request.endpoint;
  const ValidationRules rules{
      .endpoint = endpoint,
      .api_url = record.request.api_url,
      .rows_max = options_.rows_max,
      .text_bytes_max = options_.text_bytes_max,
      .mixed_models = options_.mixed_models,
      .find_model = [&](const std::string& name) -> std::variant<std::string, llm::Failure> {
        auto found = models_->find(endpoint, name);
        if (auto* failure = std::get_if<llm::Failure>(&found)) return std::move(*failure);
        return std::get<BatchModel>(std::move(found)).name;
      }};
  auto checked = batches::validate(*lines, rules);
  if (!checked) return checked.error();
  const std::scoped_lock lock(mutex_);
  if (stopping_ || live->turn_over) return {};  // it may have been cut off in the middle
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
  if (job) {
    figures_.ended(record.number);
    // Also where it ends early: after a restart nobody is told of less than before.
    live->record.counts = counts_of(*live);
    (void)table_.update(live->record);
  }
  live->job.reset();
  if (!end) return hold_back(*live, end.error());
  if (*end == RowsEnd::kPaused) return hold_back(*live, nobody_is_there());
  if (*end == RowsEnd::kStopped) return;
  if (const Result<bool> changed = apply(*live, BatchEvent::kRowsEnded); !changed)
    hold_back(*live, changed.error());
}

// What came of its rows becomes files, and it has ended.
void BatchService::close(const LivePtr& live) {
  const BatchRecord record = record_of(live);
  const auto read_logs = [&] {
    return tally(disk_, data_.at(results_place(record.id)), data_.at(errors_place(record.id)));
  };
  const Result<void> made = [&]() -> Result<void> {
    Result<BatchTally> sums = read_logs();
    if (!sums) return sums.error();
    // Somebody changed them since its rows ended.
    const bool all_ended = record.state.status == BatchStatus::kFinalizing;
    const bool damaged =
        sums->odd > 0 || (all_ended && sums->completed + sums->failed != record.counts.total);
    if (record.state.time_over || damaged) {
      const Result<bool> ended = end_rows(live, record);
      if (!ended) return ended.error();
      if (!*ended) return {};
      sums = read_logs();
      if (!sums) return sums.error();
    }
    return make_files(live, *sums);
  }();
  if (made) return;
  const std::scoped_lock lock(mutex_);
  hold_back(*live, made.error());
}

// Gives rows without a line the one they lack; those of a cancelled batch lack none. False: the
// server is being stopped.
Result<bool> BatchService::end_rows(const LivePtr& live, const BatchRecord& record) {
  const Result<StoredFile> input = input_of(record);
  // Then nobody knows what its other rows were.
  if (!input && input.error().kind == ErrorKind::kNotFound) return true;
  if (!input) return input.error();
  const bool cancelled = record.state.status == BatchStatus::kCancelling;
  const auto job = std::make_shared<BatchJob>(world(), record, input->place);
  {
    const std::scoped_lock lock(mutex_);
    live->job = job;
    figures_.began(record.number, job, record.counts);
    if (stopping_ || cancelled) job->stop();
  }
  const bool too_late = clock_.unix_seconds() >= record.state.expires_at;
  const Result<RowsEnd> end =
      record.state.time_over || too_late ? job->run_expired() : job->run(*models_);
  {
    const std::scoped_lock lock(mutex_);
    figures_.ended(record.number);
    live->job.reset();
  }
  if (!end) return end.error();
  if (*end == RowsEnd::kPaused) return nobody_is_there();
  return cancelled || *end == RowsEnd::kAll;
}

Result<void> BatchService::make_files(const LivePtr& live, const BatchTally& sums) {
  const BatchRecord before = record_of(live);
  const std::string& id = before.id;
  const std::scoped_lock lock(mutex_);
  const std::string& owner = before.owner;
  const std::optional<int64_t> kept_s = before.request.output_expires_after_s;
  const Result<void> done = data_.database().transaction([&]() -> Result<void> {
    std::optional<std::string> output_id;
    std::optional<std::string> error_id;
    if (sums.results_bytes > 0) {
      const auto file = files_.add_output(owner, id + "_output.jsonl", results_place(id),
                                          sums.results_bytes, kept_s);
      if (!file) return file.error();
      output_id = file->id;
    }
    if (sums.errors_bytes > 0) {
      const auto file = files_.add_output(owner, id + "_error.jsonl", errors_place(id),
                                          sums.errors_bytes, kept_s);
      if (!file) return file.error();
      error_id = file->id;
    }
    const Result<bool> changed = apply(*live, BatchEvent::kFilesMade, [&](BatchRecord& record) {
      record.counts.completed = sums.completed;
      record.counts.failed = sums.failed;
      record.usage = sums.usage;
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
  files_.grew((sums.results_bytes > 0 ? 1 : 0) + (sums.errors_bytes > 0 ? 1 : 0),
              sums.results_bytes + sums.errors_bytes);
  std::error_code ignored;
  if (sums.results_bytes + sums.errors_bytes == 0)
    std::filesystem::remove_all(data_.at(batch_place(id)), ignored);
  return {};
}

}  // namespace windrow::batches
