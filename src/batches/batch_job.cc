#include "batches/batch_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>
#include <variant>

#include "base/format.h"
#include "batch/input.h"
#include "batch/job_paths.h"
#include "batch/log_scan.h"
#include "dispatch/scoped_submitter.h"
#include "dispatch/work_item.h"
#include "report/log_tally.h"

namespace windrow::batches {
namespace {

// How long rows that run may take once a batch is cancelled. Stopping the server is quicker.
constexpr Duration kGrace = std::chrono::minutes(10);

// How often a row asks again for tokens.
constexpr Duration kTokensLookInterval = std::chrono::seconds(1);

// An input whose name in messages is the file's id, which clients know, and not its path.
class NamedInput final : public batch::Input {
 public:
  NamedInput(std::unique_ptr<batch::Input> input, std::string name)
      : input_(std::move(input)), name_(std::move(name)) {}

  Result<std::unique_ptr<batch::ByteSource>> open(batch::BeforeWait before_wait) override {
    return input_->open(std::move(before_wait));
  }
  bool rereadable() const override { return input_->rereadable(); }
  std::optional<uint64_t> size() const override { return input_->size(); }
  const std::string& name() const override { return name_; }

 private:
  const std::unique_ptr<batch::Input> input_;
  const std::string name_;
};

// A Submitter that answers each row with "too late", for a batch whose time is over.
class ExpiredRows final : public dispatch::Submitter {
 public:
  bool submit(llm::Request /*request*/, dispatch::WorkItem /*item*/, dispatch::Cost /*expected*/,
              Done done) override {
    if (stopped_) return false;
    done({.outcome = llm::Failure{.status = 0,  // no backend was asked
                                  .code = "batch_expired",
                                  .message = "This request could not be executed before the "
                                             "completion window expired."},
          .attempts = 0});
    return true;
  }
  void stop_admitting() override { stopped_ = true; }
  void cancel_waiting() override {}
  void cancel_all() override {}

 private:
  std::atomic<bool> stopped_ = false;
};

// Tallies one log. Returns the bytes of its complete lines.
Result<int64_t> read(store::Disk& disk, const std::string& path, batch::LogKind kind,
                     report::LogTally& tally) {
  const Result<std::unique_ptr<store::ReadFile>> file = disk.open_read(path);
  if (!file && file.error().kind == ErrorKind::kNotFound) return int64_t{0};
  if (!file) return file.error();
  batch::LogLines lines(**file);
  for (uint64_t number = 1;; ++number) {
    const Result<std::optional<std::string_view>> line = lines.next();
    if (!line) return line.error();
    if (!*line) return static_cast<int64_t>(lines.offset());
    if (!tally.read(kind, number, **line)) continue;
    if (kind == batch::LogKind::kResults) {
      tally.count_result();
    } else {
      tally.count_failure();
    }
  }
}

}  // namespace

// Submits rows as requests of the key that owns the batch: they take part in fair queueing and use
// the key's tokens. A row that reached no upstream has not failed: it runs again when one is
// reachable.
class BatchJob::KeyedSubmitter final : public dispatch::Submitter {
 public:
  // `keys` null, or `key` empty: the batch belongs to no key.
  KeyedSubmitter(dispatch::Dispatcher& dispatcher, BatchKeys* keys, std::string key,
                 std::atomic<bool>& waits_for_tokens, std::function<void()> pause)
      : keys_(key.empty() ? nullptr : keys),
        key_(std::move(key)),
        waits_for_tokens_(waits_for_tokens),
        pause_(std::move(pause)),
        submitter_(dispatcher) {}

  bool submit(llm::Request request, dispatch::WorkItem item, dispatch::Cost expected,
              Done done) override {
    if (keys_ != nullptr) {
      item.tenant = dispatch::tenant_id(key_);
      item.weight = keys_->weight_of(key_);
      if (!wait_for_tokens(item.tokens)) return false;
    }
    const int64_t taken = item.tokens;
    const bool accepted =
        submitter_.submit(std::move(request), item, expected,
                          [this, taken, done = std::move(done)](dispatch::DispatchResult result) {
                            auto* failure = std::get_if<llm::Failure>(&result.outcome);
                            if (failure != nullptr && failure->unreached) {
                              failure->failure_class = llm::FailureClass::kCancelled;
                              pause_();
                            }
                            if (keys_ != nullptr) charge(taken, result.outcome);
                            done(std::move(result));
                          });
    if (!accepted && keys_ != nullptr) keys_->ended(key_, taken, {}, RowEnd::kNeither);
    return accepted;
  }
  void stop_admitting() override {
    {
      const std::scoped_lock lock(mutex_);
      stopped_ = true;
      changed_.notify_all();
    }
    submitter_.stop_admitting();
  }
  void cancel_waiting() override { submitter_.cancel_waiting(); }
  void cancel_all() override { submitter_.cancel_all(); }

 private:
  // False if the job was stopped.
  bool wait_for_tokens(int64_t tokens) {
    std::unique_lock lock(mutex_);
    while (!stopped_) {
      const Duration wait = keys_->take(key_, tokens);
      waits_for_tokens_ = wait > Duration{};
      if (wait <= Duration{}) return true;
      // Limits may change in the meantime, so it does not sleep for the whole wait.
      changed_.wait_for(lock, std::min(wait, kTokensLookInterval));
    }
    return false;
  }

  void charge(int64_t taken, const llm::Outcome& outcome) {
    const auto* failure = std::get_if<llm::Failure>(&outcome);
    if (failure == nullptr) {
      keys_->ended(key_, taken, std::get<llm::Answer>(outcome).usage, RowEnd::kAnswered);
    } else {
      const bool again = failure->failure_class == llm::FailureClass::kCancelled;
      keys_->ended(key_, taken, failure->usage, again ? RowEnd::kNeither : RowEnd::kFailed);
    }
  }

  BatchKeys* const keys_;
  const std::string key_;
  std::atomic<bool>& waits_for_tokens_;
  const std::function<void()> pause_;

  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopped_ = false;

  dispatch::ScopedSubmitter submitter_;  // destroyed first: it waits for its requests
};

BatchJob::BatchJob(World world, BatchRecord record, std::string input)
    : world_(std::move(world)), record_(std::move(record)), input_(std::move(input)) {}

BatchJob::~BatchJob() = default;

batch::JobOptions BatchJob::options() const {
  batch::JobOptions options;
  options.input_name = record_.request.input_file_id;
  options.output_path = world_.data.at(results_path(record_.id));
  options.body_defaults = record_.body_defaults;
  options.unknown_fields = world_.unknown_fields;
  options.models = record_.models;
  options.any_model = true;
  options.apis = world_.apis;
  options.keep_truncated = true;
  options.now_unix_s = world_.clock.unix_seconds();
  options.grace = kGrace;
  options.unattended = true;
  return options;
}

Result<RowsEnd> BatchJob::run(dispatch::Models& models) {
  std::map<dispatch::Dispatcher*, std::unique_ptr<KeyedSubmitter>> rows;
  std::vector<batch::ModelRoute> routes;
  std::atomic<bool> paused = false;
  batch::JobOptions options = this->options();
  for (std::string& name : options.models) {
    auto found = models.find(record_.request.endpoint, name);
    if (const auto* failure = std::get_if<llm::Failure>(&found))
      return Error{ErrorKind::kUnavailable, failure->message};
    const auto& model = std::get<dispatch::Model>(found);
    std::unique_ptr<KeyedSubmitter>& of_model = rows[model.dispatcher];
    if (!of_model) {
      of_model = std::make_unique<KeyedSubmitter>(*model.dispatcher, world_.keys, record_.owner,
                                                  waits_for_tokens_, [&] {
                                                    paused = true;
                                                    stop();
                                                  });
    }
    options.raw = model.raw;
    if (name.empty()) name = model.name;
    routes.push_back({.name = name, .dispatcher = of_model.get()});
  }
  // If all names are of one model, it answers every row; else each row is routed by its name.
  options.any_model = rows.size() == 1;
  if (options.any_model) routes.resize(1);
  batch::RunHooks hooks;
  hooks.upstreams_of = [&models](const std::string& name) { return models.upstreams_of(name); };
  Result<RowsEnd> end = run(std::move(options), routes, hooks);
  if (end && *end == RowsEnd::kStopped && paused) end = RowsEnd::kPaused;
  return end;
}

Result<RowsEnd> BatchJob::run_expired() {
  ExpiredRows expired;
  const std::vector<batch::ModelRoute> routes = {{.name = "", .dispatcher = &expired}};
  batch::JobOptions options = this->options();
  // The rows are not read as requests any more.
  options.raw = true;
  return run(std::move(options), routes, {});
}

Result<RowsEnd> BatchJob::run(batch::JobOptions options, std::span<const batch::ModelRoute> routes,
                              const batch::RunHooks& hooks) {
  std::error_code error;
  std::filesystem::create_directories(world_.data.at(batch_folder(record_.id)), error);
  if (error) {
    return Error{error == std::errc::no_space_on_device ? ErrorKind::kDiskFull : ErrorKind::kIo,
                 fmt::format("the folder of {} cannot be made: {}", record_.id, error.message())};
  }
  Result<std::unique_ptr<batch::Input>> opened = batch::open_input(world_.data.at(input_));
  if (!opened) return opened.error();
  NamedInput input(*std::move(opened), record_.request.input_file_id);

  bool refused = false;
  Result<RowsEnd> end = run_once(options, input, routes, hooks, refused);
  if (end || !refused) return end;
  // The logs were changed, or the rows are others than before. Valid lines stay; the other rows run
  // again.
  const Result<batch::Salvage> salvage = batch::salvage_logs(options, world_.disk, input);
  if (!salvage) return salvage.error();
  world_.warn(salvage_message(*salvage));
  refused = false;
  end = run_once(options, input, routes, hooks, refused);
  if (end || !refused) return end;
  world_.warn(
      fmt::format("{}: its logs cannot be continued even after salvage; they are set "
                  "aside and all its rows run again",
                  record_.id));
  options.fresh = true;
  return run_once(std::move(options), input, routes, hooks, refused);
}

std::string BatchJob::salvage_message(const batch::Salvage& salvage) const {
  std::string message =
      salvage.why.empty()
          ? fmt::format(
                "{}: the job record next to its logs was damaged or missing; all lines are kept",
                record_.id)
          : fmt::format(
                "{}: its logs were damaged ({}); valid lines kept: {}, lines lost: {}; "
                "the rows of lost lines run again",
                record_.id, salvage.why, with_thousands(salvage.kept),
                with_thousands(salvage.lost));
  std::string_view before = "; the damaged files are kept as ";
  for (const std::string& path : salvage.aside) {
    message += fmt::format("{}{}", before, std::filesystem::path(path).filename().string());
    before = ", ";
  }
  return message;
}

Result<RowsEnd> BatchJob::run_once(batch::JobOptions options, batch::Input& input,
                                   std::span<const batch::ModelRoute> routes, batch::RunHooks hooks,
                                   bool& refused) {
  const auto counters = std::make_shared<batch::JobCounters>();
  if (Result<void> read = read_earlier_runs(options.output_path); !read) return read.error();
  Result<std::unique_ptr<batch::JobRunner>> runner = batch::JobRunner::open(
      std::move(options), {.disk = world_.disk, .clock = world_.clock, .input = input}, *counters);
  if (!runner) {
    refused =
        runner.error().kind == ErrorKind::kInvalid || runner.error().kind == ErrorKind::kConflict;
    return runner.error();
  }
  {
    const std::scoped_lock lock(mutex_);
    runner_ = runner->get();
    counters_ = counters;
    if (stopped_) runner_->stop();
    if (stopped_now_) runner_->stop_now();
  }
  const Result<batch::JobReport> report = (*runner)->run(routes, std::move(hooks));
  {
    const std::scoped_lock lock(mutex_);
    runner_ = nullptr;
  }
  if (!report) {
    refused = report.error().kind == ErrorKind::kConflict;
    return report.error();
  }
  return report->end == batch::JobEnd::kCompleted ? RowsEnd::kAll : RowsEnd::kStopped;
}

// The job itself counts the rows of earlier runs, and not what they used.
Result<void> BatchJob::read_earlier_runs(const std::string& results) {
  const Result<batch::JobPaths> paths = batch::job_paths(results);
  if (!paths) return paths.error();
  Result<BatchTally> sums = tally(world_.disk, paths->results, paths->errors);
  if (!sums) return sums.error();
  const std::scoped_lock lock(mutex_);
  usage_before_ = sums->usage;
  failures_before_ = std::move(sums->failures);
  counters_.reset();
  return {};
}

void BatchJob::stop() {
  const std::scoped_lock lock(mutex_);
  stopped_ = true;
  if (runner_ != nullptr) runner_->stop();
}

void BatchJob::stop_now() {
  const std::scoped_lock lock(mutex_);
  stopped_ = stopped_now_ = true;
  if (runner_ != nullptr) runner_->stop_now();
}

RequestCounts BatchJob::counts() const {
  RequestCounts counts = record_.counts;
  std::shared_ptr<batch::JobCounters> now;
  {
    const std::scoped_lock lock(mutex_);
    now = counters_;
  }
  if (!now) return counts;
  const int64_t failed_before = now->rows_before_failed;
  const int64_t completed = now->rows_before - failed_before + now->rows_succeeded;
  // Until the logs of earlier runs are read, the counts are those of the record.
  counts.completed = std::max(counts.completed, completed);
  counts.failed = std::max(counts.failed, failed_before + now->rows_failed);
  return counts;
}

BatchUsage BatchJob::usage() const {
  const std::scoped_lock lock(mutex_);
  const BatchUsage known = record_.usage.value_or(BatchUsage{});
  if (!counters_) return known;
  BatchUsage usage = usage_before_;
  usage.input_tokens += counters_->prompt_tokens;
  usage.cached_tokens += counters_->cached_tokens;
  usage.output_tokens += counters_->completion_tokens;
  usage.reasoning_tokens += counters_->reasoning_tokens;
  return usage;
}

std::vector<batch::FailureKind> BatchJob::failures() const {
  std::shared_ptr<batch::JobCounters> now;
  std::vector<batch::FailureKind> before;
  {
    const std::scoped_lock lock(mutex_);
    now = counters_;
    before = failures_before_;
  }
  if (!now) return before;
  batch::FailureKinds sum;
  for (const batch::FailureKind& kind : before)
    sum.add(kind.status, kind.code, kind.rows);
  for (const batch::FailureKind& kind : now->failures.read())
    sum.add(kind.status, kind.code, kind.rows);
  return sum.read();
}

report::ProgressReading BatchJob::reading() const {
  std::shared_ptr<batch::JobCounters> now;
  {
    const std::scoped_lock lock(mutex_);
    now = counters_;
  }
  const TimePoint at = world_.clock.now();
  if (!now) return {.at = at, .backend = {}, .upstreams = {}};
  return report::read_progress(*now,
                               {.prompt_tokens = now->prompt_tokens,
                                .cached_tokens = now->cached_tokens,
                                .generated_tokens = now->completion_tokens},
                               at);
}

// --- logs ---

Result<BatchTally> tally(store::Disk& disk, const std::string& results, const std::string& errors) {
  // It has a buffer and histograms in it.
  const auto logs = std::make_unique<report::LogTally>();
  BatchTally sums;
  const Result<int64_t> results_bytes = read(disk, results, batch::LogKind::kResults, *logs);
  if (!results_bytes) return results_bytes.error();
  const Result<int64_t> errors_bytes = read(disk, errors, batch::LogKind::kErrors, *logs);
  if (!errors_bytes) return errors_bytes.error();
  sums.results_bytes = *results_bytes;
  sums.errors_bytes = *errors_bytes;
  sums.odd = logs->odd(batch::LogKind::kResults).lines + logs->odd(batch::LogKind::kErrors).lines;
  sums.completed = logs->succeeded();
  sums.failed = logs->failed();
  for (report::FailureKind& kind : logs->failures())
    sums.failures.push_back(
        {.status = kind.status, .code = std::move(kind.code), .rows = kind.rows});
  for (const auto& [name, model] : logs->models()) {
    sums.usage.input_tokens += model.tokens.prompt;
    sums.usage.cached_tokens += model.tokens.cached;
    sums.usage.output_tokens += model.tokens.completion;
    sums.usage.reasoning_tokens += model.tokens.reasoning;
  }
  return sums;
}

}  // namespace windrow::batches
