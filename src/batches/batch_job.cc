#include "batches/batch_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <map>
#include <optional>
#include <system_error>
#include <utility>
#include <variant>

#include "base/format.h"
#include "batch/input.h"
#include "batches/expired_rows.h"
#include "dispatch/work_item.h"
#include "dispatch/scoped_submitter.h"

namespace windrow::batches {
namespace {

// As long as rows that run may take once a batch is cancelled; who stops the server waits less.
constexpr Duration kGrace = std::chrono::minutes(10);

// How often a row asks again whether there are tokens for it.
constexpr Duration kTokensLookInterval = std::chrono::seconds(1);

// An input as messages call it: by the name clients know, not by where it lies.
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

}  // namespace

// A share of a dispatcher, of a key that made the batch: rows take their turn among those of other
// keys, and of its tokens. Rows that reached nobody have not failed: they run when somebody is
// there.
class BatchJob::Rows final : public dispatch::Submitter {
 public:
  // `keys` null, or `key` empty: it belongs to nobody.
  Rows(dispatch::Dispatcher& dispatcher, BatchKeys* keys, std::string key,
       std::atomic<bool>& waits_for_tokens, std::function<void()> pause)
      : keys_(key.empty() ? nullptr : keys),
        key_(std::move(key)),
        waits_for_tokens_(waits_for_tokens),
        pause_(std::move(pause)),
        share_(dispatcher) {}

  bool submit(llm::Request request, dispatch::WorkItem item, dispatch::Cost expected,
              Done done) override {
    if (keys_ != nullptr) {
      item.tenant = dispatch::tenant_id(key_);
      item.weight = keys_->weight_of(key_);
      if (!wait_for_tokens(item.tokens)) return false;
    }
    const int64_t taken = item.tokens;
    const bool accepted =
        share_.submit(std::move(request), item, expected,
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
    share_.stop_admitting();
  }
  void cancel_waiting() override { share_.cancel_waiting(); }
  void cancel_all() override { share_.cancel_all(); }

 private:
  // False: it is to stop.
  bool wait_for_tokens(int64_t tokens) {
    std::unique_lock lock(mutex_);
    while (!stopped_) {
      const Duration wait = keys_->take(key_, tokens);
      waits_for_tokens_ = wait > Duration{};
      if (wait <= Duration{}) return true;
      // Not as long as it takes: limits may be others by then.
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

  dispatch::ScopedSubmitter share_;  // the first to go: it waits for its requests
};

BatchJob::BatchJob(World world, BatchRecord record, std::string input)
    : world_(std::move(world)), record_(std::move(record)), input_(std::move(input)) {}

BatchJob::~BatchJob() = default;

batch::JobOptions BatchJob::options() const {
  batch::JobOptions options;
  options.input_name = record_.request.input_file_id;
  options.output_path = world_.data.at(results_place(record_.id));
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

Result<RowsEnd> BatchJob::run(BatchModels& models) {
  std::map<dispatch::Dispatcher*, std::unique_ptr<Rows>> rows;
  std::vector<batch::ModelRoute> routes;
  std::atomic<bool> paused = false;
  batch::JobOptions options = this->options();
  for (std::string& name : options.models) {
    auto found = models.find(record_.request.endpoint, name);
    if (const auto* failure = std::get_if<llm::Failure>(&found))
      return Error{ErrorKind::kUnavailable, failure->message};
    const auto& model = std::get<BatchModel>(found);
    std::unique_ptr<Rows>& of_model = rows[model.dispatcher];
    if (!of_model) {
      of_model = std::make_unique<Rows>(*model.dispatcher, world_.keys, record_.owner,
                                        waits_for_tokens_, [&] {
                                          paused = true;
                                          stop();
                                        });
    }
    options.raw = model.raw;
    if (name.empty()) name = model.name;
    routes.push_back({.name = name, .dispatcher = of_model.get()});
  }
  // Names of one model are all its own; else each row goes by what it names.
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
  // What a row asks does not matter any more.
  options.raw = true;
  return run(std::move(options), routes, {});
}

Result<RowsEnd> BatchJob::run(batch::JobOptions options, std::span<const batch::ModelRoute> routes,
                              const batch::RunHooks& hooks) {
  std::error_code error;
  std::filesystem::create_directories(world_.data.at(batch_place(record_.id)), error);
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
  // Logs that are not what was written there, or rows that are not those of then. What is sound
  // stays; the rest is computed again rather than guessed at.
  const Result<batch::Salvage> salvage = batch::salvage_logs(options, world_.disk, input);
  if (!salvage) return salvage.error();
  world_.warn(said_of(*salvage));
  refused = false;
  end = run_once(options, input, routes, hooks, refused);
  if (end || !refused) return end;
  world_.warn(
      fmt::format("{}: what is sound in its logs cannot be gone on from; they are put "
                  "aside and all its rows run again",
                  record_.id));
  options.fresh = true;
  return run_once(std::move(options), input, routes, hooks, refused);
}

std::string BatchJob::said_of(const batch::Salvage& salvage) const {
  std::string said =
      salvage.why.empty()
          ? fmt::format("{}: the record beside its logs was damaged or gone; all lines stay",
                        record_.id)
          : fmt::format(
                "{}: its logs were damaged ({}); lines that are sound and stay: {}, lost "
                "ones: {}, whose rows run again",
                record_.id, salvage.why, with_thousands(salvage.kept),
                with_thousands(salvage.lost));
  std::string_view before = "; what was there is kept as ";
  for (const std::string& path : salvage.aside) {
    said += fmt::format("{}{}", before, std::filesystem::path(path).filename().string());
    before = ", ";
  }
  return said;
}

Result<RowsEnd> BatchJob::run_once(batch::JobOptions options, batch::Input& input,
                                   std::span<const batch::ModelRoute> routes, batch::RunHooks hooks,
                                   bool& refused) {
  const auto counters = std::make_shared<batch::JobCounters>();
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
  // Until the logs of an earlier run were read it is what was known then.
  counts.completed = std::max(counts.completed, completed);
  counts.failed = std::max(counts.failed, failed_before + now->rows_failed);
  return counts;
}

}  // namespace windrow::batches
