#include "batch/job_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>
#include <variant>

#include "async/start_thread.h"
#include "base/ensure.h"
#include "base/format.h"
#include "batch/input_check.h"
#include "batch/job_end.h"
#include "batch/job_reader.h"
#include "batch/line_source.h"
#include "batch/outcome_writer.h"
#include "batch/planned_rows.h"
#include "batch/result_line.h"
#include "batch/row_reader.h"
#include "dispatch/submitter.h"
#include "dispatch/work_item.h"

namespace windrow::batch {
namespace {

// The longest wait that fits the clock.
constexpr Duration kGraceMax = std::chrono::hours(24 * 365);

// The interval at which the clock is read: it cannot wake a thread.
constexpr std::chrono::milliseconds kGraceLookInterval(20);

// How a run is to be stopped.
enum class Stop : uint8_t { kNo, kFinishRunning, kNow };

class Runner final : public JobRunner {
 public:
  Runner(JobOptions options, JobEnvironment environment, JobCounters& counters, JobFiles files)
      : options_(std::move(options)),
        environment_(environment),
        counters_(counters),
        reader_(RowRules{
            .body = {.defaults = options_.body_defaults, .unknown_fields = options_.unknown_fields},
            .models = options_.models,
            .any_model = options_.any_model,
            .raw = options_.raw,
            .apis = options_.apis,
            .form = options_.form}),
        files_(std::move(files)),
        check_(options_, environment_.input, reader_, files_, counters_),
        rows_(options_.look_ahead),
        writer_(environment_.clock, counters_,
                {.unwritten_bytes_max = options_.unwritten_bytes_max,
                 .keep_truncated = options_.keep_truncated,
                 .failure_limit = options_.failure_limit,
                 .succeeded_before = files_.start.results_before > 0},
                {.failed =
                     [this](const Error& error) {
                       fail(with_what_is_safe(error, options_, files_, counters_), Stop::kNow);
                     },
                 .too_many_failed =
                     [this](const FailureStop& stop) {
                       failure_stop_ = stop;
                       stop_at_least(Stop::kFinishRunning);
                     }}) {}

  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;

  ~Runner() override { stop_now(); }

  Result<void> begin();

  const JobPaths& paths() const override { return files_.paths; }
  const JobStart& start() const override { return files_.start; }
  std::optional<Error> refusal() const override { return check_.refusal(); }
  Result<JobReport> run(std::span<const ModelRoute> routes, RunHooks hooks) override;
  void stop() override { stop_at_least(Stop::kFinishRunning); }
  void stop_now() override { stop_at_least(Stop::kNow); }

 private:
  // --- any thread ---
  void stop_at_least(Stop stop);
  Stop stopping() const;
  void fail(const Error& error, Stop stop);

  // --- run()'s thread ---
  Result<JobReport> run_rows(ResultLog log);
  Result<bool> check_input();
  void wait_for_rows();
  Result<JobReport> end_of_job();
  JobReport report(JobEnd end) const;

  // --- a thread each ---
  void read_rows();
  void submit_rows();

  // --- reader, submitter ---
  void queue_row(Row row);
  void submit_row(Row row);
  dispatch::Submitter& dispatcher_of(const std::string& model) const;

  const JobOptions options_;
  const JobEnvironment environment_;
  JobCounters& counters_;
  const RowReader reader_;
  JobFiles files_;  // the index belongs to check_ until it has ended, then to the reader
  InputCheck check_;
  std::vector<ModelRoute> routes_;
  RunHooks hooks_;

  PlannedRows rows_;
  OutcomeWriter writer_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  // Under the mutex:
  std::atomic<Stop> stop_ = Stop::kNo;  // read without it too
  std::optional<Error> fatal_;          // why the job stops; the first reason
  std::unique_ptr<LineSource> lines_;
  int64_t in_flight_ = 0;
  bool submitter_ended_ = false;

  JobReader::Report read_;                   // the reader's, until it was joined
  std::optional<FailureStop> failure_stop_;  // the writer's, until it was joined
};

// --- any thread -------------------------------------------------------------------------------

void Runner::stop_at_least(Stop stop) {
  const std::scoped_lock lock(mutex_);
  stop_ = std::max(stop_.load(), stop);
  // The reader may be blocked on a pipe or a full queue.
  if (lines_ != nullptr) lines_->interrupt();
  check_.interrupt();
  rows_.close();
  changed_.notify_all();
}

Stop Runner::stopping() const {
  return stop_;
}

void Runner::fail(const Error& error, Stop stop) {
  {
    const std::scoped_lock lock(mutex_);
    if (!fatal_) fatal_ = error;
  }
  stop_at_least(stop);
}

// --- before the rows run ----------------------------------------------------------------------

Result<void> Runner::begin() {
  if (auto begun = check_.begin(); !begun) return begun;
  counters_.phase = JobPhase::kWaiting;
  return {};
}

// False when the run was stopped.
Result<bool> Runner::check_input() {
  counters_.phase = JobPhase::kChecking;
  InputCheck::OnFault on_fault;
  if (hooks_.on_fault) {
    on_fault = [this](const RowFault& fault) {
      hooks_.on_fault(LineFault{
          .line = fault.key.line, .custom_id = fault.key.custom_id, .failure = fault.failure});
    };
  }
  return check_.wait(hooks_.check, on_fault);
}

// --- the reader -------------------------------------------------------------------------------

void Runner::read_rows() {
  JobReader reader(reader_, files_.index, counters_,
                   {.input_name = environment_.input.name(),
                    .rows_max = options_.rows_max,
                    .before_known = check_.before_known()},
                   {.run = [this](Row row) { queue_row(std::move(row)); },
                    .finish = [this](RowOutcome row) { writer_.finish(std::move(row)); },
                    .passed = [this] { rows_.pass_over(); },
                    .fail = [this](const Error& error) { fail(error, Stop::kFinishRunning); },
                    .stopping = [this] { return stopping() != Stop::kNo; }});
  read_ = reader.read(*lines_);
  rows_.close();
}

void Runner::queue_row(Row row) {
  ++counters_.rows_queued;
  if (!rows_.push(std::move(row))) --counters_.rows_queued;
}

// --- the submitter ----------------------------------------------------------------------------

void Runner::submit_rows() {
  while (std::optional<Row> row = rows_.pop()) {
    --counters_.rows_queued;
    // Rows that are still queued then belong to the next run.
    if (stopping() == Stop::kNo) submit_row(*std::move(row));
  }
  const std::scoped_lock lock(mutex_);
  submitter_ended_ = true;
  changed_.notify_all();
}

dispatch::Submitter& Runner::dispatcher_of(const std::string& model) const {
  if (options_.any_model) return *routes_.front().dispatcher;
  const auto found = std::find_if(routes_.begin(), routes_.end(),
                                  [&](const ModelRoute& route) { return route.name == model; });
  ENSURE(found != routes_.end(), "the row reader let model {} pass, which has no route", model);
  return *found->dispatcher;
}

void Runner::submit_row(Row row) {
  dispatch::Submitter& dispatcher = dispatcher_of(row.request.model);
  const auto ended = [this] {
    --counters_.rows_in_flight;
    const std::scoped_lock lock(mutex_);
    // The waiting thread needs only the last one.
    if (--in_flight_ == 0) changed_.notify_all();
  };
  {
    const std::scoped_lock lock(mutex_);
    ++in_flight_;
    ++counters_.rows_in_flight;
  }
  RowOutcome outcome;
  outcome.key = std::move(row.key);
  outcome.ordinal = row.ordinal;
  outcome.endpoint = row.request.endpoint;
  outcome.model = row.request.model;
  outcome.dialect = std::move(row.dialect);
  dispatch::WorkItem item = dispatch::request_item(row.request, row.bytes, row.question);
  item.group = row.group;
  if (row.request.endpoint == llm::Endpoint::kEmbeddings ||
      row.request.endpoint == llm::Endpoint::kRerank)
    outcome.texts = item.rows;
  if (hooks_.upstreams_of) item.upstreams = hooks_.upstreams_of(row.request.model);
  std::variant<dispatch::Cost, llm::Failure> expected = dispatch::Cost{0};
  if (hooks_.expected_cost) expected = hooks_.expected_cost(row.request);
  if (auto* failure = std::get_if<llm::Failure>(&expected)) {
    outcome.outcome = std::move(*failure);
    writer_.finish(std::move(outcome));
    return ended();
  }
  auto done = [this, ended, outcome = std::move(outcome)](dispatch::DispatchResult result) mutable {
    outcome.outcome = outcome.dialect ? outcome.dialect->to_client(std::move(result.outcome))
                                      : std::move(result.outcome);
    const bool asked = result.source == dispatch::OutcomeSource::kAsked;
    // A shared failure counts its attempts for each row; a shared answer does not.
    const bool failed = std::holds_alternative<llm::Failure>(outcome.outcome);
    outcome.tries = {.attempts = asked || failed ? result.attempts : 0,
                     .tokens = result.tokens,
                     .earlier_failure = std::move(result.earlier_failure)};
    if (asked) counters_.attempts += result.attempts;
    // Blocks while the writer is far behind; the backend's thread then waits for the disk.
    writer_.finish(std::move(outcome));
    ended();
  };
  if (hooks_.before_row) hooks_.before_row(row.request);
  if (!dispatcher.submit(std::move(row.request), item, std::get<dispatch::Cost>(expected),
                         std::move(done)))
    ended();
}

// --- run()'s thread ---------------------------------------------------------------------------

Result<JobReport> Runner::run(std::span<const ModelRoute> routes, RunHooks hooks) {
  ENSURE(counters_.phase == JobPhase::kWaiting, "a job runs once");
  ENSURE(routes.size() == (options_.any_model ? 1 : options_.models.size()),
         "{} models have {} routes", options_.models.size(), routes.size());
  routes_.assign(routes.begin(), routes.end());
  hooks_ = std::move(hooks);

  auto result = [&]() -> Result<JobReport> {
    const auto checked = check_input();
    if (!checked) return checked.error();
    if (!*checked || stopping() != Stop::kNo) return report(JobEnd::kInterrupted);
    JobRecord record{.input = environment_.input.name(),
                     .results = results_name(options_),
                     .settings = settings_of(options_)};
    for (JobSetting& setting : hooks_.late_settings)
      record.settings.push_back(std::move(setting));
    counters_.log_bytes = static_cast<int64_t>(files_.results_bytes + files_.errors_bytes);
    auto log = begin_job_files(files_, record, environment_.disk);
    if (!log) {
      const ErrorKind kind = log.error().kind;
      const bool of_the_disk = kind == ErrorKind::kDiskFull || kind == ErrorKind::kIo;
      return of_the_disk ? with_what_is_safe(log.error(), options_, files_, counters_)
                         : log.error();
    }
    return run_rows(*std::move(log));
  }();
  check_.end();  // where it still counts, for a progress that is not shown any more
  counters_.phase = JobPhase::kEnded;
  return result;
}

Result<JobReport> Runner::run_rows(ResultLog log) {
  auto lines = open_lines(environment_.input, {}, [this] { rows_.release(); });
  if (!lines) return lines.error();
  {
    const std::scoped_lock lock(mutex_);
    lines_ = *std::move(lines);
    if (stop_ != Stop::kNo) lines_->interrupt();
  }
  counters_.phase = JobPhase::kRunning;
  std::thread writer = async::start_thread(
      "the writer thread of a job",
      [this, log = std::move(log)]() mutable { writer_.write(std::move(log)); });
  std::thread submitter =
      async::start_thread("the submitter thread of a job", [this] { submit_rows(); });
  std::thread reader = async::start_thread("the reader thread of a job", [this] { read_rows(); });

  wait_for_rows();
  reader.join();
  submitter.join();
  writer_.close();
  writer.join();
  return end_of_job();
}

void Runner::wait_for_rows() {
  const auto idle = [&] { return submitter_ended_ && in_flight_ == 0; };
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return idle() || stop_ != Stop::kNo; });
  if (idle()) return;

  counters_.phase = JobPhase::kStopping;
  const TimePoint grace_over = environment_.clock.now() + std::min(options_.grace, kGraceMax);
  lock.unlock();
  for (const ModelRoute& route : routes_) {
    route.dispatcher->stop_admitting();
    route.dispatcher->cancel_waiting();
  }
  lock.lock();
  const auto ended = [&] { return idle() || stop_ == Stop::kNow; };
  while (!ended() && environment_.clock.now() < grace_over) {
    changed_.wait_for(lock, kGraceLookInterval, ended);
  }
  if (idle()) return;

  lock.unlock();
  for (const ModelRoute& route : routes_)
    route.dispatcher->cancel_all();
  lock.lock();
  changed_.wait(lock, idle);
}

// All threads have ended and the logs are closed.
Result<JobReport> Runner::end_of_job() {
  {
    const std::scoped_lock lock(mutex_);
    if (fatal_) return *fatal_;
  }
  if (read_.error) return *read_.error;
  if (check_.compares() && read_.to_end && counters_.rows_total == 0 && options_.rows_max != 0)
    return check_.emptied_error();
  const int64_t written = counters_.rows_succeeded + counters_.rows_failed;
  const bool completed = read_.to_end && written == read_.rows_to_write;
  JobReport end = report(completed       ? JobEnd::kCompleted
                         : failure_stop_ ? JobEnd::kStoppedByFailures
                                         : JobEnd::kInterrupted);
  if (!completed) end.failure_stop = failure_stop_;
  // The index is not needed any more, and what follows needs memory.
  files_.index.forget_rows();
  if (options_.retry_failed || files_.unsettled) {
    const auto settled = settle_retried(environment_.disk, options_, files_, end);
    if (!settled) return settled.error();
  }
  if (!completed || !options_.ordered) return end;

  counters_.phase = JobPhase::kOrdering;
  const auto ordered =
      order_logs(environment_.disk, files_.paths, [this] { return stopping() != Stop::kNo; });
  if (!ordered) return ordered.error();
  if (!*ordered) end.end = JobEnd::kInterrupted;
  end.ordered = *ordered;
  return end;
}

JobReport Runner::report(JobEnd end) const {
  return JobReport{.end = end,
                   .rows_succeeded = read_.skipped_succeeded + counters_.rows_succeeded,
                   .rows_failed = read_.skipped_failed + counters_.rows_failed,
                   .ignored_fields = read_.ignored_fields};
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
  if (auto begun = runner->begin(); !begun) return begun.error();
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
  if (result->end == JobEnd::kStoppedByFailures) return 5;
  return result->rows_failed + result->rows_gone > 0 ? 1 : 0;
}

}  // namespace windrow::batch
