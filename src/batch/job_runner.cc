#include "batch/job_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <variant>

#include "base/ensure.h"
#include "base/format.h"
#include "base/uncaught.h"
#include "batch/job_end.h"
#include "batch/job_reader.h"
#include "batch/line_source.h"
#include "batch/outcome_writer.h"
#include "batch/planned_rows.h"
#include "batch/prescan.h"
#include "batch/row_item.h"
#include "batch/row_outcome.h"
#include "batch/row_reader.h"
#include "dispatch/submitter.h"

namespace windrow::batch {
namespace {

// A wait that a clock can still count.
constexpr Duration kGraceMax = std::chrono::hours(24 * 365);

// How often the clock is looked at meanwhile: it can wake nobody.
constexpr std::chrono::milliseconds kGraceLookInterval(20);

// How far a run is told to stop.
enum class Stop : uint8_t { kNo, kFinishRunning, kNow };

class Runner final : public JobRunner {
 public:
  Runner(JobOptions options, JobEnvironment environment, JobCounters& counters, JobFiles files)
      : options_(std::move(options)),
        environment_(environment),
        counters_(counters),
        compares_(files.index.size() > 0),
        reader_(RowRules{
            .body = {.defaults = options_.body_defaults, .unknown_fields = options_.unknown_fields},
            .models = options_.models,
            .any_model = options_.any_model,
            .raw = options_.raw,
            .apis = options_.apis}),
        files_(std::move(files)),
        rows_(options_.look_ahead),
        writer_(environment_.clock, counters_,
                {.unwritten_bytes_max = options_.unwritten_bytes_max,
                 .keep_truncated = options_.keep_truncated},
                {.failed = [this](const Error& error) {
                  fail(with_what_is_safe(error, options_, files_, counters_), Stop::kNow);
                }}) {}

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
  Error emptied_error() const;
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
  Result<JobReport> end_of_job();
  JobReport report(JobEnd end) const;

  // --- a thread each ---
  void prescan();
  void read_rows();
  void submit_rows();

  // --- reader, submitter ---
  void queue_row(Row row);
  void submit_row(Row row);
  dispatch::Submitter& dispatcher_of(const std::string& model) const;

  const JobOptions options_;
  const JobEnvironment environment_;
  JobCounters& counters_;
  const bool compares_;  // an earlier run left outcomes, whether or not they stay
  const RowReader reader_;
  JobFiles files_;  // the index belongs to the pre-scan until it ended, then to the reader
  std::vector<ModelRoute> routes_;
  RunHooks hooks_;

  PlannedRows rows_;
  OutcomeWriter writer_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  // Under the mutex:
  std::atomic<Stop> stop_ = Stop::kNo;  // read without it too
  std::optional<Error> fatal_;          // why the job stops; the first reason
  std::optional<Prescan> prescan_;
  std::unique_ptr<LineSource> prescan_lines_;
  std::unique_ptr<LineSource> lines_;
  int64_t in_flight_ = 0;
  bool submitter_ended_ = false;
  bool rows_ended_ = false;  // all threads but the pre-scan's have ended

  bool before_known_ = false;  // rows_before was set before the reader began
  JobReader::Report read_;     // the reader's, until it was joined

  std::thread prescan_thread_;
};

// --- any thread -------------------------------------------------------------------------------

void Runner::stop_at_least(Stop stop) {
  const std::scoped_lock lock(mutex_);
  stop_ = std::max(stop_.load(), stop);
  // A reader may wait for a pipe or for room in its queue.
  if (lines_ != nullptr) lines_->interrupt();
  if (prescan_lines_ != nullptr) prescan_lines_->interrupt();
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

// The door at which exceptions stop: the process ends, and what is on disk is what a later run
// continues from. Also where the thread itself cannot be had: the others run and cannot be joined.
template <class Body>
std::thread Runner::start_thread(const char* name, Body body) {
  try {
    return std::thread([name, body = std::move(body)]() mutable {
      try {
        body();
      } catch (const std::exception& error) {
        end_on(error, fmt::format("the {} thread of a job", name));
      }
    });
  } catch (const std::system_error& error) {
    end_on(error, "a job");
  }
}

// An input without a row, where an earlier run has left outcomes: that is a mistake with the input
// rather than a job that is done.
Error Runner::emptied_error() const {
  return Error{
      ErrorKind::kConflict,
      fmt::format("{} has no rows, but {} and its errors have {} of an earlier run; restore "
                  "the input, or name another output with -o. The results stay as they are",
                  environment_.input.name(), files_.paths.results,
                  with_thousands(static_cast<int64_t>(files_.index.size())))};
}

std::optional<Error> Runner::refusal() const {
  const std::scoped_lock lock(mutex_);
  if (!prescan_) return std::nullopt;
  if (compares_ && prescan_->whole && prescan_->rows == 0 && options_.rows_max != 0)
    return emptied_error();
  if (prescan_->rows_changed > 0) return changed_rows_error(*prescan_, environment_.input.name());
  const bool none_left = options_.only_retried && !options_.rows_max && prescan_->whole &&
                         files_.start.retried > 0 && prescan_->rows_to_look_at == 0;
  if (none_left) return none_left_error(files_, environment_.input.name());
  return std::nullopt;
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
  Prescan result = compares_
                       ? compare_rows(*prescan_lines_, options_.rows_max, reader_, files_.index)
                       : count_rows(*prescan_lines_, options_.rows_max);
  const std::scoped_lock lock(mutex_);
  // The reader may have come to the end first, and ended this.
  if (result.whole && stop_ == Stop::kNo && !rows_ended_) {
    counters_.rows_total = result.rows - result.rows_not_wanted;
  }
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
  if (!compares_) {
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
          const std::string place = fmt::format("line {}", fault.key.line);
          const bool has_place = fault.failure.message.starts_with(place + " ");
          named += fmt::format("\n  {}{}", has_place ? "" : place + ": ", fault.failure.message);
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
  JobReader reader(reader_, files_.index, counters_,
                   {.input_name = environment_.input.name(),
                    .rows_max = options_.rows_max,
                    .before_known = before_known_},
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
    // What is still queued then belongs to the next run.
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
    // Nobody waits for any but the last one.
    if (--in_flight_ == 0) changed_.notify_all();
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
  outcome.words = std::move(row.words);
  dispatch::WorkItem item = work_item(row);
  if (hooks_.upstreams_of) item.upstreams = hooks_.upstreams_of(row.request.model);
  std::variant<dispatch::Cost, llm::Failure> expected = dispatch::Cost{0};
  if (hooks_.expected_cost) expected = hooks_.expected_cost(row.request);
  if (auto* failure = std::get_if<llm::Failure>(&expected)) {
    outcome.outcome = std::move(*failure);
    writer_.finish(std::move(outcome));
    return ended();
  }
  auto done = [this, ended, outcome = std::move(outcome)](dispatch::DispatchResult result) mutable {
    outcome.outcome = outcome.words ? outcome.words->in_own_words(std::move(result.outcome))
                                    : std::move(result.outcome);
    const bool asked = result.source == dispatch::OutcomeSource::kAsked;
    // A shared failure is that of all attempts; a shared answer cost this row none.
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
    const auto checked = check_before(hooks_);
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
  auto lines = open_lines(environment_.input, {}, [this] { rows_.hand_out(); });
  if (!lines) return lines.error();
  {
    const std::scoped_lock lock(mutex_);
    lines_ = *std::move(lines);
    if (stop_ != Stop::kNo) lines_->interrupt();
  }
  counters_.phase = JobPhase::kRunning;
  std::thread writer = start_thread(
      "writer", [this, log = std::move(log)]() mutable { writer_.write(std::move(log)); });
  std::thread submitter = start_thread("submitter", [this] { submit_rows(); });
  std::thread reader = start_thread("reader", [this] { read_rows(); });

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
  if (compares_ && read_.to_end && counters_.rows_total == 0 && options_.rows_max != 0)
    return emptied_error();
  const int64_t written = counters_.rows_succeeded + counters_.rows_failed;
  const bool completed = read_.to_end && written == read_.rows_to_write;
  JobReport end = report(completed ? JobEnd::kCompleted : JobEnd::kInterrupted);
  // Nothing is asked about rows any more, and what follows needs memory of its own for them.
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
  return result->rows_failed + result->rows_gone > 0 ? 1 : 0;
}

}  // namespace windrow::batch
