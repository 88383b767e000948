#include "batches/batch_stages.h"

#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <variant>

#include "batch/input.h"
#include "batches/validate.h"

namespace windrow::batches {
namespace {

Error no_upstream_answers() {
  return {ErrorKind::kUnavailable, "the servers that have the model cannot be reached"};
}

}  // namespace

Result<StoredFile> BatchStages::input_of(const BatchRecord& record) {
  Reply<FileContent> content = world_.files.open_input(record.request.input_file_id);
  if (const auto* failure = std::get_if<llm::Failure>(&content)) {
    return Error{failure->status == 404 ? ErrorKind::kNotFound : ErrorKind::kIo, failure->message};
  }
  return std::get<FileContent>(std::move(content)).file;
}

std::shared_ptr<BatchJob> BatchStages::make_job(const BatchRecord& record,
                                                const std::string& input) const {
  return std::make_shared<BatchJob>(BatchJob::World{.disk = world_.disk,
                                                    .clock = world_.clock,
                                                    .data = world_.data,
                                                    .warn = world_.options.warn,
                                                    .keys = world_.options.keys,
                                                    .unknown_fields = world_.options.unknown_fields,
                                                    .apis = world_.options.apis},
                                    record, input);
}

// --- validation --------------------------------------------------------------------------------

void BatchStages::validate(LiveBatch& batch) {
  const Result<void> checked = check_input(batch);
  const LiveBatches::Lock lock = world_.live.lock();
  batch.lines.reset();
  batch.interrupted = false;
  if (!checked) world_.live.hold_back(lock, batch, checked.error());
}

Result<void> BatchStages::check_input(LiveBatch& batch) {
  const BatchRecord record = world_.live.record_of(batch);
  const Result<StoredFile> file = input_of(record);
  if (!file && file.error().kind == ErrorKind::kNotFound)
    return fail_without_input(batch, file.error());
  if (!file) return file.error();
  const Result<std::unique_ptr<batch::Input>> input = batch::open_input(world_.data.at(file->path));
  if (!input) return input.error();
  Result<std::unique_ptr<batch::ByteSource>> bytes = (*input)->open();
  if (!bytes) return bytes.error();
  const std::shared_ptr<batch::LineSource> lines = batch::make_line_source(
      *std::move(bytes), file->id, {.text_bytes_max = world_.options.text_bytes_max});
  {
    const LiveBatches::Lock lock = world_.live.lock();
    batch.lines = lines;
    if (world_.live.is_stopping(lock) || batch.record.state.status != BatchStatus::kValidating)
      return {};
  }
  const llm::Endpoint endpoint = record.request.endpoint;
  const ValidationRules rules{
      .endpoint = endpoint,
      .api_url = record.request.api_url,
      .rows_max = world_.options.rows_max,
      .text_bytes_max = world_.options.text_bytes_max,
      .mixed_models = world_.options.mixed_models,
      .find_model = [&](const std::string& name) -> std::variant<std::string, llm::Failure> {
        auto found = world_.models.find(endpoint, name);
        if (auto* failure = std::get_if<llm::Failure>(&found)) return std::move(*failure);
        return std::get<dispatch::Model>(std::move(found)).name;
      }};
  auto checked = batches::validate(*lines, rules);
  if (!checked) return checked.error();
  const LiveBatches::Lock lock = world_.live.lock();
  if (world_.live.is_stopping(lock) || batch.interrupted) return {};  // perhaps not all was read
  Result<bool> changed = false;
  if (auto* good = std::get_if<CheckedInput>(&*checked)) {
    changed = world_.live.apply(lock, batch, BatchEvent::kChecked, [&](BatchRecord& valid) {
      valid.models = std::move(good->models);
      valid.counts.total = good->rows;
    });
  } else {
    changed = world_.live.apply(lock, batch, BatchEvent::kFaulty, [&](BatchRecord& faulty) {
      faulty.faults = std::move(std::get<std::vector<BatchFault>>(*checked));
    });
  }
  if (!changed) return changed.error();
  return {};
}

Result<void> BatchStages::fail_without_input(LiveBatch& batch, const Error& error) {
  const LiveBatches::Lock lock = world_.live.lock();
  const Result<bool> changed =
      world_.live.apply(lock, batch, BatchEvent::kFaulty, [&](BatchRecord& faulty) {
        faulty.faults = {{.code = "file_bytes_missing", .message = error.message}};
      });
  if (!changed) return changed.error();
  return {};
}

// --- rows --------------------------------------------------------------------------------------

void BatchStages::run_rows(LiveBatch& batch) {
  std::shared_ptr<BatchJob> job;
  const Result<RowsEnd> end = answer_rows(batch, job);
  const LiveBatches::Lock lock = world_.live.lock();
  batch.running = false;
  if (job) {
    // Also if the job ends early, so that a restart never shows lower counts than before.
    world_.live.save_counts(lock, batch);
    world_.live.job_ended(lock, batch);
  }
  if (!end) return world_.live.hold_back(lock, batch, end.error());
  if (*end == RowsEnd::kPaused) return world_.live.hold_back(lock, batch, no_upstream_answers());
  if (*end == RowsEnd::kStopped) return;
  if (const Result<bool> changed = world_.live.apply(lock, batch, BatchEvent::kRowsEnded); !changed)
    world_.live.hold_back(lock, batch, changed.error());
}

// `job` is set once it is visible to other threads.
Result<RowsEnd> BatchStages::answer_rows(LiveBatch& batch, std::shared_ptr<BatchJob>& job) {
  const BatchRecord record = world_.live.record_of(batch);
  const Result<StoredFile> input = input_of(record);
  if (!input) return input.error();
  if (const std::string why = world_.models.unavailable(); !why.empty())
    return Error{ErrorKind::kUnavailable, why};
  job = make_job(record, input->path);
  {
    const LiveBatches::Lock lock = world_.live.lock();
    world_.live.job_began(lock, batch, job);
    batch.note.clear();
    if (world_.live.is_stopping(lock) || batch.record.state.status != BatchStatus::kInProgress)
      job->stop();
  }
  return job->run(world_.models);
}

// --- the end -----------------------------------------------------------------------------------

void BatchStages::close(LiveBatch& batch) {
  const BatchRecord record = world_.live.record_of(batch);
  bool stopped = false;
  const Result<BatchTally> sums = finish_logs(batch, record, stopped);
  if (stopped) return;
  const Result<void> made = sums ? make_files(batch, *sums) : Result<void>(sums.error());
  if (made) return;
  const LiveBatches::Lock lock = world_.live.lock();
  world_.live.hold_back(lock, batch, made.error());
}

// What the logs say, once every row that must have a result has one. `stopped`: the server is being
// stopped before that.
Result<BatchTally> BatchStages::finish_logs(LiveBatch& batch, const BatchRecord& record,
                                            bool& stopped) {
  const auto read_logs = [&] {
    return tally(world_.disk, world_.data.at(results_path(record.id)),
                 world_.data.at(errors_path(record.id)));
  };
  Result<BatchTally> sums = read_logs();
  if (!sums) return sums;
  // The logs may have been changed by hand since all rows ended.
  const bool all_ended = record.state.status == BatchStatus::kFinalizing;
  const bool damaged =
      sums->odd > 0 || (all_ended && sums->completed + sums->failed != record.counts.total);
  if (!record.state.time_over && !damaged) return sums;
  const Result<bool> ended = end_rows(batch, record);
  if (!ended) return ended.error();
  stopped = !*ended;
  return stopped ? std::move(sums) : read_logs();
}

// Gives a result to each row that must have one; rows of a cancelled batch need none. False: the
// server is being stopped.
Result<bool> BatchStages::end_rows(LiveBatch& batch, const BatchRecord& record) {
  const Result<StoredFile> input = input_of(record);
  // Without the input it is unknown which other rows there were.
  if (!input && input.error().kind == ErrorKind::kNotFound) return true;
  if (!input) return input.error();
  const bool cancelled = record.state.status == BatchStatus::kCancelling;
  const std::shared_ptr<BatchJob> job = make_job(record, input->path);
  {
    const LiveBatches::Lock lock = world_.live.lock();
    world_.live.job_began(lock, batch, job);
    if (world_.live.is_stopping(lock) || cancelled) job->stop();
  }
  const bool too_late = world_.clock.unix_seconds() >= record.state.expires_at;
  const Result<RowsEnd> end =
      record.state.time_over || too_late ? job->run_expired() : job->run(world_.models);
  {
    const LiveBatches::Lock lock = world_.live.lock();
    world_.live.job_ended(lock, batch);
  }
  if (!end) return end.error();
  if (*end == RowsEnd::kPaused) return no_upstream_answers();
  return cancelled || *end == RowsEnd::kAll;
}

Result<void> BatchStages::make_files(LiveBatch& batch, const BatchTally& sums) {
  const BatchRecord before = world_.live.record_of(batch);
  const std::string& id = before.id;
  const LiveBatches::Lock lock = world_.live.lock();
  const auto add_file = [&](std::string_view name_ending, const std::string& path, int64_t bytes,
                            std::optional<std::string>& file_id) -> Result<void> {
    if (bytes == 0) return {};
    const Result<StoredFile> file =
        world_.files.add_output(before.owner, id + std::string(name_ending), path, bytes,
                                before.request.output_expires_after_s);
    if (!file) return file.error();
    file_id = file->id;
    return {};
  };
  const Result<void> done = world_.data.database().transaction([&]() -> Result<void> {
    std::optional<std::string> output_id;
    std::optional<std::string> error_id;
    Result<void> added = add_file("_output.jsonl", results_path(id), sums.results_bytes, output_id);
    if (added) added = add_file("_error.jsonl", errors_path(id), sums.errors_bytes, error_id);
    if (!added) return added;
    const Result<bool> changed =
        world_.live.apply(lock, batch, BatchEvent::kFilesMade, [&](BatchRecord& record) {
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
    world_.live.restore(lock, batch, before);
    return done;
  }
  world_.files.add_to_totals((sums.results_bytes > 0 ? 1 : 0) + (sums.errors_bytes > 0 ? 1 : 0),
                             sums.results_bytes + sums.errors_bytes);
  std::error_code ignored;
  if (sums.results_bytes + sums.errors_bytes == 0)
    std::filesystem::remove_all(world_.data.at(batch_folder(id)), ignored);
  return {};
}

}  // namespace windrow::batches
