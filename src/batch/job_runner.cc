#include "batch/job_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>
#include <variant>

#include "async/bounded_queue.h"
#include "base/ensure.h"
#include "base/format.h"
#include "batch/fingerprint.h"
#include "batch/line_source.h"
#include "batch/ordered.h"
#include "batch/prescan.h"
#include "batch/result_line.h"
#include "batch/row_reader.h"
#include "dispatch/dispatcher.h"

namespace windrow::batch {
namespace {

// What lies between reader and submitter, and between backend and writer. Each is an addend of the
// memory a job needs, whatever the number of its rows.
constexpr size_t kRowsBytesMax = size_t{8} << 20;
constexpr size_t kOutcomesBytesMax = size_t{16} << 20;

// A wait that a clock can still count.
constexpr Duration kGraceMax = std::chrono::hours(24 * 365);

// What a queued value needs besides its texts.
constexpr size_t kOverheadBytes = 512;

// How far a run is told to stop.
enum class Stop : uint8_t { kNo, kFinishRunning, kNow };

// What became of one row, on its way to the log.
struct RowOutcome {
  RowKey key;
  llm::Endpoint endpoint = llm::Endpoint::kChatCompletions;
  std::string model;
  llm::Outcome outcome;
  int32_t attempts = 0;  // 0: never submitted
  bool of_line = false;
};

size_t cost_of(const RowOutcome& outcome) {
  size_t bytes = kOverheadBytes + outcome.key.custom_id.size() + outcome.model.size();
  if (const auto* answer = std::get_if<llm::Answer>(&outcome.outcome)) {
    bytes += llm::bytes_of(*answer);
  } else {
    bytes += std::get<llm::Failure>(outcome.outcome).message.size();
  }
  return bytes;
}

// What a group adds to the counters once it is safe.
struct GroupSums {
  int64_t succeeded = 0;
  int64_t failed = 0;
  int64_t prompt_tokens = 0;
  int64_t completion_tokens = 0;
};

class Runner final : public JobRunner {
 public:
  Runner(JobOptions options, JobEnvironment environment, JobCounters& counters, JobFiles files)
      : options_(std::move(options)),
        environment_(environment),
        counters_(counters),
        reader_(RowRules{.body_defaults = options_.body_defaults,
                         .models = options_.models,
                         .any_model = options_.any_model}),
        files_(std::move(files)) {}

  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;

  ~Runner() override {
    stop_now();
    if (prescan_thread_.joinable()) prescan_thread_.join();
  }

  Result<void> begin_prescan();

  const JobPaths& paths() const override { return files_.paths; }
  const JobStart& start() const override { return files_.start; }
  std::optional<Error> refusal() const override;
  Result<JobReport> run(std::span<const ModelRoute> routes, RunHooks hooks) override;
  void stop() override { stop_at_least(Stop::kFinishRunning); }
  void stop_now() override { stop_at_least(Stop::kNow); }

 private:
  // --- any thread ---
  void stop_at_least(Stop stop);
  Stop stopping() const;
  void fail(const Error& error, Stop stop);
  template <class Body>
  static std::thread start_thread(const char* name, Body body);

  // --- run()'s thread ---
  Result<JobReport> run_rows(ResultLog log);
  Result<bool> check_before(const RunHooks& hooks);
  Result<bool> check_strictly(const RunHooks& hooks);
  void count_before(const Prescan& prescan);
  void wait_for_rows();
  void cancel_all();
  Result<JobReport> end_of_job();
  JobReport report(JobEnd end) const;
  Error with_what_is_safe(const Error& error) const;

  // --- a thread each ---
  void prescan();
  void read_rows();
  void read_row(const Line& line);
  void submit_rows();
  void write_outcomes(ResultLog log);
  bool write_group(ResultLog& log, std::vector<RowOutcome> outcomes);

  // --- reader, submitter, backend ---
  void finish(RowOutcome outcome);
  void finish_fault(RowFault fault);
  void submit_row(Row row);
  dispatch::Dispatcher& dispatcher_of(const std::string& model) const;

  const JobOptions options_;
  const JobEnvironment environment_;
  JobCounters& counters_;
  const RowReader reader_;
  JobFiles files_;  // the index belongs to the pre-scan until it ended, then to the reader
  std::vector<ModelRoute> routes_;

  async::BoundedQueue<Row> rows_{kRowsBytesMax};
  async::BoundedQueue<RowOutcome> outcomes_{kOutcomesBytesMax};

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  // Under the mutex:
  Stop stop_ = Stop::kNo;
  std::optional<Error> fatal_;        // why the job stops; the first reason
  std::optional<Error> input_error_;  // why the input ended early
  std::optional<Prescan> prescan_;
  std::unique_ptr<LineSource> prescan_lines_;
  std::unique_ptr<LineSource> lines_;
  int64_t in_flight_ = 0;
  bool submitter_ended_ = false;
  bool rows_ended_ = false;  // all threads but the pre-scan's have ended

  // Written by the reader, read after it was joined:
  bool read_to_end_ = false;
  bool before_known_ = false;  // rows_before was set before it began
  int64_t rows_read_ = 0;
  int64_t rows_to_write_ = 0;  // those that needed a line in a log
  int64_t skipped_succeeded_ = 0;
  int64_t skipped_failed_ = 0;

  std::thread prescan_thread_;
};

// --- any thread -------------------------------------------------------------------------------

void Runner::stop_at_least(Stop stop) {
  const std::scoped_lock lock(mutex_);
  stop_ = std::max(stop_, stop);
  // A reader may wait for a pipe or for room in its queue.
  if (lines_ != nullptr) lines_->interrupt();
  if (prescan_lines_ != nullptr) prescan_lines_->interrupt();
  rows_.close();
  changed_.notify_all();
}

Stop Runner::stopping() const {
  const std::scoped_lock lock(mutex_);
  return stop_;
}

void Runner::fail(const Error& error, Stop stop) {
  {
    const std::scoped_lock lock(mutex_);
    if (!fatal_) fatal_ = error;
  }
  stop_at_least(stop);
}

// The door at which exceptions stop. Nobody foresaw one, so nothing is known of what it left
// undone: the process ends, and what is on disk is what a later run continues from.
template <class Body>
std::thread Runner::start_thread(const char* name, Body body) {
  return std::thread([name, body = std::move(body)]() mutable {
    try {
      body();
    } catch (const std::exception& error) {
      ENSURE(false, "the {} thread of a job ended early: {}", name, error.what());
    }
  });
}

std::optional<Error> Runner::refusal() const {
  const std::scoped_lock lock(mutex_);
  if (!prescan_ || prescan_->rows_changed == 0) return std::nullopt;
  return changed_rows_error(*prescan_, environment_.input.name());
}

// --- the pre-scan -----------------------------------------------------------------------------

Result<void> Runner::begin_prescan() {
  if (const auto size = environment_.input.size()) {
    counters_.input_bytes_total = static_cast<int64_t>(*size);
  }
  // --strict makes a pass of its own once the model is there, and it counts too.
  if (environment_.input.rereadable() && !options_.strict) {
    auto lines = open_lines(environment_.input);
    if (!lines) return lines.error();
    prescan_lines_ = *std::move(lines);
    prescan_thread_ = start_thread("pre-scan", [this] { prescan(); });
  }
  counters_.phase = JobPhase::kWaiting;
  return {};
}

void Runner::prescan() {
  Prescan result = files_.start.resumed
                       ? compare_rows(*prescan_lines_, options_.rows_max, reader_, files_.index)
                       : count_rows(*prescan_lines_, options_.rows_max);
  const std::scoped_lock lock(mutex_);
  // The reader may have come to the end first, and ended this.
  if (result.whole && stop_ == Stop::kNo && !rows_ended_) counters_.rows_total = result.rows;
  prescan_ = std::move(result);
}

void Runner::count_before(const Prescan& prescan) {
  counters_.rows_before = prescan.rows_finished;
  counters_.rows_before_failed = prescan.rows_finished_failed;
  before_known_ = true;
}

// What has to be known before the first row runs. False when the run was stopped meanwhile.
Result<bool> Runner::check_before(const RunHooks& hooks) {
  counters_.phase = JobPhase::kChecking;
  if (options_.strict) return check_strictly(hooks);
  if (!files_.start.resumed) {
    before_known_ = true;
    return true;
  }
  if (!prescan_thread_.joinable()) return true;
  prescan_thread_.join();
  if (stopping() != Stop::kNo) return false;
  if (auto error = refusal()) return *std::move(error);
  if (prescan_) count_before(*prescan_);
  return true;
}

Result<bool> Runner::check_strictly(const RunHooks& hooks) {
  auto lines = open_lines(environment_.input);
  if (!lines) return lines.error();
  LineSource& source = **lines;
  {
    const std::scoped_lock lock(mutex_);
    prescan_lines_ = *std::move(lines);
  }
  if (stopping() != Stop::kNo) return false;
  int64_t faults = 0;
  std::string named;
  const Prescan prescan = check_rows(
      source, options_.rows_max, reader_, files_.index, hooks.check, [&](const RowFault& fault) {
        ++faults;
        if (hooks.on_fault) {
          hooks.on_fault(LineFault{
              .line = fault.key.line, .custom_id = fault.key.custom_id, .failure = fault.failure});
        } else if (faults <= static_cast<int64_t>(kNamedMax)) {
          named += fmt::format("\n  line {}: {}", fault.key.line, fault.failure.message);
        }
      });
  if (stopping() != Stop::kNo) return false;
  if (prescan.error) return *prescan.error;
  if (prescan.rows_changed > 0) return changed_rows_error(prescan, environment_.input.name());
  if (faults > 0) {
    return Error{ErrorKind::kInvalid,
                 fmt::format("{}: {} of {} rows cannot run; correct them, or leave out --strict, "
                             "which then costs only these rows{}",
                             environment_.input.name(), with_thousands(faults),
                             with_thousands(prescan.rows), named)};
  }
  counters_.rows_total = prescan.rows;
  count_before(prescan);
  return true;
}

// --- the reader -------------------------------------------------------------------------------

void Runner::read_rows() {
  while (stopping() == Stop::kNo) {
    if (options_.rows_max && rows_read_ >= *options_.rows_max) {
      read_to_end_ = true;
      break;
    }
    const auto line = lines_->next();
    counters_.input_bytes_read = static_cast<int64_t>(lines_->input_bytes_read());
    if (!line) {
      const std::scoped_lock lock(mutex_);
      input_error_ = line.error();
      break;
    }
    if (!*line) {
      read_to_end_ = stopping() == Stop::kNo;
      break;
    }
    ++rows_read_;
    read_row(**line);
  }
  if (read_to_end_) counters_.rows_total = rows_read_;
  rows_.close();
}

void Runner::read_row(const Line& line) {
  auto opened = reader_.open(line);
  auto* const unnamed = std::get_if<RowFault>(&opened);
  const RowKey& key = unnamed != nullptr ? unnamed->key : std::get<Envelope>(opened).key;
  const Verdict verdict =
      unnamed != nullptr
          ? files_.index.see_line(key)
          : files_.index.see_row(Pass::kRun, key, line_fingerprint(line.bytes, line.length));
  switch (verdict) {
    case Verdict::kSucceeded:
    case Verdict::kFailed:
    case Verdict::kReportedBefore: {
      const bool failed = verdict != Verdict::kSucceeded;
      ++(failed ? skipped_failed_ : skipped_succeeded_);
      ++counters_.rows_skipped;
      if (before_known_) return;
      ++counters_.rows_before;
      if (failed) ++counters_.rows_before_failed;
      return;
    }
    case Verdict::kChanged: {
      // An input that can be read only once, or a file that was written to since its pre-scan.
      Prescan found;
      found.changed.push_back({.line = key.line,
                               .custom_id = key.custom_id,
                               .succeeded = files_.index.succeeded(key.identity)});
      found.rows_changed = 1;
      found.rows_changed_failed = found.changed.front().succeeded ? 0 : 1;
      fail(changed_rows_error(found, environment_.input.name()), Stop::kFinishRunning);
      return;
    }
    case Verdict::kDuplicate:
      finish_fault(duplicate_fault(key, line));
      return;
    case Verdict::kReport:
      finish_fault(std::move(*unnamed));
      return;
    case Verdict::kRun:
      break;
  }
  RowOrFault finished = reader_.finish(std::move(std::get<Envelope>(opened)));
  if (auto* fault = std::get_if<RowFault>(&finished)) {
    finish_fault(std::move(*fault));
    return;
  }
  ++rows_to_write_;
  auto& row = std::get<Row>(finished);
  const size_t cost = row.bytes + kOverheadBytes;
  ++counters_.rows_queued;
  if (!rows_.push(std::move(row), cost)) --counters_.rows_queued;
}

void Runner::finish_fault(RowFault fault) {
  ++rows_to_write_;
  RowOutcome outcome;
  outcome.key = std::move(fault.key);
  outcome.outcome = std::move(fault.failure);
  outcome.of_line = fault.of_line;
  finish(std::move(outcome));
}

// --- the submitter ----------------------------------------------------------------------------

void Runner::submit_rows() {
  while (std::optional<Row> row = rows_.pop()) {
    --counters_.rows_queued;
    // What is still queued then belongs to the next run.
    if (stopping() == Stop::kNo) submit_row(*std::move(row));
  }
  const std::scoped_lock lock(mutex_);
  submitter_ended_ = true;
  changed_.notify_all();
}

dispatch::Dispatcher& Runner::dispatcher_of(const std::string& model) const {
  if (options_.any_model) return *routes_.front().dispatcher;
  const auto found = std::find_if(routes_.begin(), routes_.end(),
                                  [&](const ModelRoute& route) { return route.name == model; });
  ENSURE(found != routes_.end(), "the row reader let model {} pass, which has no route", model);
  return *found->dispatcher;
}

void Runner::submit_row(Row row) {
  dispatch::Dispatcher& dispatcher = dispatcher_of(row.request.model);
  const auto ended = [this] {
    const std::scoped_lock lock(mutex_);
    --in_flight_;
    --counters_.rows_in_flight;
    changed_.notify_all();
  };
  {
    const std::scoped_lock lock(mutex_);
    ++in_flight_;
    ++counters_.rows_in_flight;
  }
  RowOutcome outcome;
  outcome.key = std::move(row.key);
  outcome.endpoint = row.request.endpoint;
  outcome.model = row.request.model;
  auto done = [this, ended, outcome = std::move(outcome)](dispatch::DispatchResult result) mutable {
    outcome.outcome = std::move(result.outcome);
    outcome.attempts = result.attempts;
    counters_.attempts += result.attempts;
    finish(std::move(outcome));
    ended();
  };
  if (!dispatcher.submit(std::move(row.request), std::move(done))) ended();
}

// Blocks while the writer is far behind; the backend's thread then waits for the disk.
void Runner::finish(RowOutcome outcome) {
  const size_t cost = cost_of(outcome);
  ++counters_.rows_unwritten;
  if (!outcomes_.push(std::move(outcome), cost)) --counters_.rows_unwritten;
}

// --- the writer -------------------------------------------------------------------------------

void Runner::write_outcomes(ResultLog log) {
  counters_.log_bytes = static_cast<int64_t>(log.bytes());
  for (;;) {
    std::vector<RowOutcome> group = outcomes_.pop_all();
    if (group.empty()) return;
    const auto size = static_cast<int64_t>(group.size());
    const bool written = write_group(log, std::move(group));
    counters_.rows_unwritten -= size;
    // Nobody shall wait for a log that takes nothing any more.
    if (!written) outcomes_.close();
  }
}

bool Runner::write_group(ResultLog& log, std::vector<RowOutcome> outcomes) {
  const int64_t now_unix_s = environment_.clock.unix_seconds();
  ResultLog::Group group;
  GroupSums sums;
  for (RowOutcome& row : outcomes) {
    if (const auto* answer = std::get_if<llm::Answer>(&row.outcome)) {
      group.results +=
          result_line(row.key, row.endpoint, row.model, *answer, row.attempts, now_unix_s);
      ++sums.succeeded;
      sums.prompt_tokens += answer->usage.prompt_tokens;
      sums.completion_tokens += answer->usage.completion_tokens;
      continue;
    }
    auto& failure = std::get<llm::Failure>(row.outcome);
    switch (failure.failure_class) {
      case llm::FailureClass::kCancelled:
        continue;  // not a result: the next run does it
      case llm::FailureClass::kBackend:
        fail(Error{ErrorKind::kUnavailable, failure.message}, Stop::kNow);
        continue;
      case llm::FailureClass::kRequest:
      case llm::FailureClass::kTransient:
        break;
    }
    group.errors += error_line(
        RowFault{.key = std::move(row.key), .failure = std::move(failure), .of_line = row.of_line},
        row.attempts);
    ++sums.failed;
  }
  const auto done = log.commit(group, [&](LogKind kind) {
    if (kind == LogKind::kErrors) {
      counters_.rows_failed += sums.failed;
    } else {
      counters_.rows_succeeded += sums.succeeded;
      counters_.prompt_tokens += sums.prompt_tokens;
      counters_.completion_tokens += sums.completion_tokens;
    }
    counters_.log_bytes = static_cast<int64_t>(log.bytes());
  });
  if (!done) fail(with_what_is_safe(done.error()), Stop::kNow);
  return done.has_value();
}

Error Runner::with_what_is_safe(const Error& error) const {
  const int64_t rows = files_.start.results_before + files_.start.errors_before +
                       counters_.rows_succeeded + counters_.rows_failed;
  return Error{error.kind,
               fmt::format("{}; {} rows ({}) are safe in {} and {}. {}, then run the same command "
                           "again: it continues",
                           error.message, with_thousands(rows),
                           human_bytes(static_cast<uint64_t>(counters_.log_bytes.load())),
                           files_.paths.results, files_.paths.errors,
                           error.kind == ErrorKind::kDiskFull ? "Make room on the disk"
                                                              : "See to the disk")};
}

// --- run()'s thread ---------------------------------------------------------------------------

Result<JobReport> Runner::run(std::span<const ModelRoute> routes, RunHooks hooks) {
  ENSURE(counters_.phase == JobPhase::kWaiting, "a job runs once");
  ENSURE(routes.size() == (options_.any_model ? 1 : options_.models.size()),
         "{} models have {} routes", options_.models.size(), routes.size());
  routes_.assign(routes.begin(), routes.end());

  auto result = [&]() -> Result<JobReport> {
    const auto checked = check_before(hooks);
    if (!checked) return checked.error();
    if (!*checked || stopping() != Stop::kNo) return report(JobEnd::kInterrupted);
    JobRecord record{.input = environment_.input.name(), .settings = settings_of(options_)};
    for (JobSetting& setting : hooks.late_settings)
      record.settings.push_back(std::move(setting));
    counters_.log_bytes = static_cast<int64_t>(files_.results_bytes + files_.errors_bytes);
    auto log = begin_job_files(files_, record, environment_.disk);
    if (!log) {
      const ErrorKind kind = log.error().kind;
      const bool of_the_disk = kind == ErrorKind::kDiskFull || kind == ErrorKind::kIo;
      return of_the_disk ? with_what_is_safe(log.error()) : log.error();
    }
    return run_rows(*std::move(log));
  }();
  if (prescan_thread_.joinable()) {
    // It only counts, for a progress that nobody looks at any more.
    {
      const std::scoped_lock lock(mutex_);
      rows_ended_ = true;
      prescan_lines_->interrupt();
    }
    prescan_thread_.join();
  }
  counters_.phase = JobPhase::kEnded;
  return result;
}

Result<JobReport> Runner::run_rows(ResultLog log) {
  auto lines = open_lines(environment_.input);
  if (!lines) return lines.error();
  {
    const std::scoped_lock lock(mutex_);
    lines_ = *std::move(lines);
    if (stop_ != Stop::kNo) lines_->interrupt();
  }
  counters_.phase = JobPhase::kRunning;
  std::thread writer = start_thread(
      "writer", [this, log = std::move(log)]() mutable { write_outcomes(std::move(log)); });
  std::thread submitter = start_thread("submitter", [this] { submit_rows(); });
  std::thread reader = start_thread("reader", [this] { read_rows(); });

  wait_for_rows();
  reader.join();
  submitter.join();
  outcomes_.close();
  writer.join();
  return end_of_job();
}

void Runner::wait_for_rows() {
  const auto idle = [&] { return submitter_ended_ && in_flight_ == 0; };
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return idle() || stop_ != Stop::kNo; });
  if (idle()) return;

  counters_.phase = JobPhase::kStopping;
  lock.unlock();
  for (const ModelRoute& route : routes_) {
    route.dispatcher->stop_admitting();
    route.dispatcher->cancel_waiting();
  }
  lock.lock();
  changed_.wait_for(lock, std::min(options_.grace, kGraceMax),
                    [&] { return idle() || stop_ == Stop::kNow; });
  if (idle()) return;

  lock.unlock();
  cancel_all();
  lock.lock();
  changed_.wait(lock, [&] { return submitter_ended_; });
  lock.unlock();
  // A row that was just being submitted may have come in behind the first call.
  cancel_all();
  lock.lock();
  changed_.wait(lock, idle);
}

void Runner::cancel_all() {
  for (const ModelRoute& route : routes_)
    route.dispatcher->cancel_all();
}

// All threads have ended and the logs are closed.
Result<JobReport> Runner::end_of_job() {
  {
    const std::scoped_lock lock(mutex_);
    if (fatal_) return *fatal_;
    if (input_error_) return *input_error_;
  }
  const int64_t written = counters_.rows_succeeded + counters_.rows_failed;
  if (!read_to_end_ || written != rows_to_write_) return report(JobEnd::kInterrupted);
  if (!options_.ordered) return report(JobEnd::kCompleted);

  counters_.phase = JobPhase::kOrdering;
  files_.index.clear();
  const auto interrupted = [&] { return stopping() != Stop::kNo; };
  bool ordered = true;
  for (const auto& [path, kind] : {std::pair(files_.paths.results, LogKind::kResults),
                                   std::pair(files_.paths.errors, LogKind::kErrors)}) {
    const auto done = order_log(environment_.disk, path, kind, interrupted);
    if (!done) {
      return Error{done.error().kind,
                   fmt::format("every row has its result in {}, but putting them in order failed: "
                               "{}; the same command tries again",
                               files_.paths.results, done.error().message)};
    }
    ordered = ordered && *done;
  }
  JobReport end = report(ordered ? JobEnd::kCompleted : JobEnd::kInterrupted);
  end.ordered = ordered;
  return end;
}

JobReport Runner::report(JobEnd end) const {
  return JobReport{.end = end,
                   .rows_succeeded = skipped_succeeded_ + counters_.rows_succeeded,
                   .rows_failed = skipped_failed_ + counters_.rows_failed};
}

}  // namespace

Result<std::unique_ptr<JobRunner>> JobRunner::open(JobOptions options, JobEnvironment environment,
                                                   JobCounters& counters) {
  counters.phase = JobPhase::kOpening;
  if (options.strict && !environment.input.rereadable()) {
    return Error{
        ErrorKind::kInvalid,
        fmt::format("--strict reads the input twice, and {} can be read only once; write it "
                    "to a file first, or leave out --strict",
                    environment.input.name())};
  }
  auto files = open_job_files(options, environment.disk);
  if (!files) return files.error();
  auto runner =
      std::make_unique<Runner>(std::move(options), environment, counters, *std::move(files));
  if (auto begun = runner->begin_prescan(); !begun) return begun.error();
  return runner;
}

int exit_code(const Result<JobReport>& result) {
  if (!result) {
    switch (result.error().kind) {
      case ErrorKind::kInvalid:
      case ErrorKind::kNotFound:
      case ErrorKind::kConflict:
      case ErrorKind::kDiskFull:
      case ErrorKind::kIo:
        return 2;
      case ErrorKind::kNoSpace:
      case ErrorKind::kUnavailable:
        return 3;
    }
  }
  if (result->end == JobEnd::kInterrupted) return 130;
  return result->rows_failed > 0 ? 1 : 0;
}

}  // namespace windrow::batch
