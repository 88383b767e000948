#include "memory/service/operation_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>
#include <variant>
#include <vector>

#include "async/start_thread.h"
#include "base/hash.h"
#include "memory/bank/new_id.h"
#include "memory/consolidation/consolidation.h"
#include "memory/retain/piece_extraction.h"
#include "memory/retain/retain.h"
#include "memory/retain/retain_payload.h"

namespace windrow::memory {
namespace {

namespace json = boost::json;

constexpr int32_t kStepThreads = 4;
constexpr int32_t kStorageFull = 507;

// How often the clock is looked at for leases and for operations that wait for their time.
constexpr auto kTick = std::chrono::milliseconds(100);

// How often a retain is tried again whose texts the model gives unusable answers about.
constexpr int32_t kUnusableRetriesMax = 2;

// When a bank is looked at again that could not be read or written, as when its disk was full.
constexpr Duration kLookAgain = std::chrono::seconds(10);

// Where a server asks for no pause at all: else its refusals would be asked for without end.
constexpr Duration kRetryPauseMin = std::chrono::seconds(1);

// Before the n-th attempt after the first: 5, 10, 20 seconds and so on, and half an hour at most.
Duration retry_pause(int32_t retries) {
  constexpr int32_t kDoublings = 8;
  constexpr Duration kFirst = std::chrono::seconds(5);
  constexpr Duration kLast = std::chrono::minutes(30);
  return retries > kDoublings ? kLast : std::min(kFirst * (1 << retries), kLast);
}

json::object detail_of(const ConsolidationCounts& counts) {
  return {{"observations_created", counts.observations_created},
          {"observations_updated", counts.observations_updated},
          {"observations_merged", counts.observations_merged},
          {"observations_deleted", counts.observations_deleted},
          {"memories_failed", counts.facts_failed}};
}

json::object result_of(const ConsolidationReport& report, std::string_view status) {
  const ConsolidationCounts& counts = report.counts;
  json::object result = detail_of(counts);
  result["status"] = status;
  result["memories_processed"] = counts.facts_processed;
  result["skipped"] = counts.facts_skipped;
  result["actions_rejected"] = counts.actions_rejected;
  result["actions_executed"] =
      counts.observations_created + counts.observations_updated + counts.observations_deleted;
  result["llm_calls"] = counts.llm_calls;
  result["input_tokens"] = counts.input_tokens;
  result["cached_tokens"] = counts.cached_tokens;
  result["output_tokens"] = counts.output_tokens;
  result["wall_s"] = report.wall_s;
  result["mean_in_flight"] = report.mean_in_flight;
  return result;
}

ModelCaller caller_of(const Bank& bank, llm::Priority priority) {
  return {.key = bank.owner, .part = hash64(bank.id.text), .priority = priority};
}

}  // namespace

OperationRunner::OperationRunner(BankRegistry& banks, MemoryModels& models, const Clock& clock,
                                 RunnerOptions options)
    : banks_(banks),
      models_(models),
      clock_(clock),
      options_(std::move(options)),
      steps_(kStepThreads, async::Executor::Start::kWithFirstTask),
      workers_(std::max(options_.banks_max, 1), async::Executor::Start::kWithFirstTask) {}

OperationRunner::~OperationRunner() {
  stop();
}

void OperationRunner::start() {
  timer_ = async::start_thread("the timer of memory operations", [this] { watch_time(); });
  workers_.post([this] { look_through_banks(); });
}

void OperationRunner::stop() {
  std::vector<std::stop_source> running;
  {
    const std::scoped_lock lock(mutex_);
    if (stopping_) return;
    stopping_ = true;
    for (const auto& [work, one] : running_)
      running.push_back(one.stops);
    changed_.notify_all();
  }
  for (std::stop_source& stops : running)
    stops.request_stop();
  workers_.stop();
  steps_.stop();
  if (timer_.joinable()) timer_.join();
}

bool OperationRunner::is_stopping() const {
  const std::scoped_lock lock(mutex_);
  return stopping_;
}

void OperationRunner::notify(const BankId& bank) {
  const std::scoped_lock lock(mutex_);
  for (const OperationType type : {OperationType::kRetain, OperationType::kConsolidation})
    queue({bank, type});
}

void OperationRunner::queue(const Work& work) {
  if (stopping_) return;
  due_ms_.erase(work);
  const auto [queued, is_new] = queued_.try_emplace(work, false);
  if (!is_new) {
    queued->second = true;
    return;
  }
  workers_.post([this, work] { work_at(work); });
}

void OperationRunner::cancel(const BankId& bank, const OperationId& operation) {
  std::optional<std::stop_source> stops;
  {
    const std::scoped_lock lock(mutex_);
    for (const auto& [work, one] : running_) {
      if (work.first == bank && one.operation == operation) stops = one.stops;
    }
  }
  if (stops) stops->request_stop();
}

void OperationRunner::look_through_banks() {
  const Result<std::vector<BankId>> banks = banks_.list();
  if (!banks) {
    if (options_.warn) options_.warn(banks.error().message);
    return;
  }
  for (const BankId& bank : *banks) {
    if (is_stopping()) return;
    if (options_.works_alone) end_leases(bank);
    notify(bank);
  }
}

void OperationRunner::end_leases(const BankId& bank) {
  const Result<std::shared_ptr<BankStore>> store = banks_.bank(bank);
  if (!store) return;  // work_at says why
  const Result<void> ended = (*store)->end_leases(options_.worker, now_ms());
  if (!ended && options_.warn) options_.warn(ended.error().message);
}

void OperationRunner::work_at(const Work& work) {
  for (;;) {
    const Result<std::shared_ptr<BankStore>> store = banks_.bank(work.first);
    if (!store && store.error().kind != ErrorKind::kNotFound && options_.warn)
      options_.warn(store.error().message);
    while (store && do_next(work, *store)) {
    }
    const std::scoped_lock lock(mutex_);
    const auto queued = queued_.find(work);
    if (!stopping_ && store && std::exchange(queued->second, false)) continue;
    queued_.erase(queued);
    return;
  }
}

// Does the next operation that is due. False: there is none.
bool OperationRunner::do_next(const Work& work, const std::shared_ptr<BankStore>& store) {
  if (is_stopping()) return false;
  const auto& [bank, type] = work;
  const int64_t now = now_ms();
  // Of a bank that was deleted nothing is left to do.
  const auto failed = [&](const Error& error) {
    if (error.kind == ErrorKind::kNotFound) return;
    if (options_.warn) options_.warn(error.message);
    look_again(work);
  };
  Result<std::optional<Operation>> claimed =
      store->claim(type, options_.worker, now, options_.lease_ms);
  if (!claimed) {
    failed(claimed.error());
    return false;
  }
  if (!*claimed) {
    const Result<std::optional<UnixMs>> due = store->next_due(type);
    if (!due) {
      failed(due.error());
      return false;
    }
    const std::scoped_lock lock(mutex_);
    if (*due) due_ms_[work] = **due;
    return false;
  }
  Operation operation = **std::move(claimed);
  std::stop_token cancel;
  {
    const std::scoped_lock lock(mutex_);
    Running& running = running_[work];
    running = {.operation = operation.id, .stops = {}, .store = store, .renewed_ms = now};
    cancel = running.stops.get_token();
    if (stopping_) running.stops.request_stop();
    ++readings_.running;
    if (operation.taken_over) ++readings_.operations_taken_over;
  }
  if (type == OperationType::kConsolidation) {
    consolidate_bank(bank, *store, operation, cancel);
  } else {
    retain_items(bank, *store, operation, cancel);
  }
  {
    const std::scoped_lock lock(mutex_);
    running_.erase(work);
    --readings_.running;
    if (operation.status == OperationStatus::kCompleted) ++readings_.operations_completed;
    if (operation.status == OperationStatus::kFailed) ++readings_.operations_failed;
  }
  const bool has_completed = operation.status == OperationStatus::kCompleted;
  if (type == OperationType::kRetain && has_completed) return true;  // retain() wrote it
  const Result<void> finished = store->finish(operation, options_.worker, now_ms());
  // A conflict: it was cancelled or taken over meanwhile, and that counts.
  const bool goes_on = finished || finished.error().kind == ErrorKind::kConflict;
  if (!goes_on) failed(finished.error());
  return goes_on;
}

// The bank could not be read or written.
void OperationRunner::look_again(const Work& work) {
  const std::scoped_lock lock(mutex_);
  due_ms_[work] = now_ms() + milliseconds(kLookAgain);
}

void OperationRunner::put_back(Operation& operation, std::optional<Duration> wait,
                               std::string why) {
  operation.status = OperationStatus::kPending;
  const Duration pause = wait ? std::max(*wait, kRetryPauseMin) : retry_pause(operation.retries);
  operation.next_retry = now_ms() + milliseconds(pause);
  ++operation.retries;
  operation.error = std::move(why);
}

void OperationRunner::consolidate_bank(const BankId& bank, BankStore& store, Operation& operation,
                                       const std::stop_token& cancel) {
  const Result<Bank> settings = store.bank();
  if (!settings) return put_back(operation, {}, settings.error().message);
  const Result<BankConfig> config = with_overrides(options_.defaults, settings->overrides);
  if (!config) return put_back(operation, {}, config.error().message);
  if (!config->enable_observations) {
    operation.status = OperationStatus::kCompleted;
    operation.result = {{"status", "disabled"}};
    return;
  }
  ConsolidationOptions options{
      .config = *config,
      .caller = caller_of(*settings, llm::Priority::kBatch),
      .in_flight_max = std::min(config->consolidation_llm_parallelism, options_.in_flight_max),
      .bank = bank.text,
      .new_id = {}};
  if (options_.on_line) {
    options_.on_line(fmt::format(
        "[CONSOLIDATION] bank={} begins: {} calls in flight at most ({} for the bank, {} for the "
        "server), {} facts a call",
        bank.text, options.in_flight_max, config->consolidation_llm_parallelism,
        options_.in_flight_max, config->consolidation_llm_batch_size));
  }
  const ConsolidationListener listener{
      .on_progress =
          [&](const ConsolidationProgress& progress) {
            const json::object state{{"stage", "consolidating"},
                                     {"at", now_ms()},
                                     {"processed", progress.processed},
                                     {"total", progress.total},
                                     {"detail", detail_of(progress.counts)}};
            const Result<void> renewed =
                store.renew(operation.id, options_.worker, state, now_ms(), options_.lease_ms);
            return renewed || renewed.error().kind != ErrorKind::kConflict;
          },
      .on_line = options_.on_line};
  const ConsolidationReport report =
      consolidate(store, models_, steps_, clock_, options, listener, cancel);
  {
    const std::scoped_lock lock(mutex_);
    readings_.observations_created += report.counts.observations_created;
    readings_.observations_updated += report.counts.observations_updated;
    readings_.observations_deleted += report.counts.observations_deleted;
    readings_.facts_consolidated += report.counts.facts_processed - report.counts.facts_failed;
    readings_.facts_failed += report.counts.facts_failed;
    readings_.llm_calls += report.counts.llm_calls;
  }
  if (options_.on_line && report.end != ConsolidationEnd::kNoNewMemories)
    options_.on_line(report.table);
  if (options_.warn && !report.error.empty())
    options_.warn(fmt::format("bank {}: {}", bank.text, report.error));
  switch (report.end) {
    case ConsolidationEnd::kNoNewMemories:
    case ConsolidationEnd::kCompleted:
      operation.status = OperationStatus::kCompleted;
      operation.error = report.error;
      operation.result = result_of(
          report, report.end == ConsolidationEnd::kCompleted ? "completed" : "no_new_memories");
      break;
    case ConsolidationEnd::kCancelled:
      // A server that stops goes on with it after its next start.
      operation.status = is_stopping() ? OperationStatus::kPending : OperationStatus::kCancelled;
      operation.next_retry.reset();
      operation.result = result_of(report, "cancelled");
      break;
    case ConsolidationEnd::kStopped:
    case ConsolidationEnd::kFailed:
      operation.result = result_of(report, report.is_final ? "failed" : "deferred");
      if (report.is_final) {
        operation.status = OperationStatus::kFailed;
        operation.error = report.error;
      } else {
        put_back(operation, report.retry_after, report.error);
      }
      break;
  }
}

void OperationRunner::retain_items(const BankId& bank, BankStore& store, Operation& operation,
                                   const std::stop_token& cancel) {
  const auto fail = [&](std::string why) {
    operation.status = OperationStatus::kFailed;
    operation.error = std::move(why);
  };
  const Result<std::vector<RetainItem>> items = retain_items_from(operation.payload);
  if (!items) return fail(items.error().message);
  const Result<Bank> settings = store.bank();
  if (!settings) return put_back(operation, {}, settings.error().message);
  const Result<BankConfig> config = with_overrides(options_.defaults, settings->overrides);
  if (!config) return fail(config.error().message);
  RetainOutcome outcome =
      retain(store, models_, *config, *items, caller_of(*settings, llm::Priority::kNormal), clock_,
             RetainWork{.operation = operation.id, .worker = options_.worker, .unwanted = cancel});
  if (const auto* failure = std::get_if<llm::Failure>(&outcome)) {
    if (failure->failure_class == llm::FailureClass::kCancelled && cancel.stop_requested()) {
      // A server that stops goes on with it after its next start.
      operation.status = is_stopping() ? OperationStatus::kPending : OperationStatus::kCancelled;
      operation.next_retry.reset();
      return;
    }
    const bool again = failure->status == kStorageFull || failure->code == "storage_error" ||
                       failure->failure_class == llm::FailureClass::kTransient ||
                       failure->failure_class == llm::FailureClass::kCancelled ||
                       failure->failure_class == llm::FailureClass::kBackend;
    // Each time the model is asked about all pieces anew.
    const bool is_unusable = failure->code == kUnusableExtractionCode;
    if (!again || (is_unusable && operation.retries >= kUnusableRetriesMax))
      return fail(failure->message);
    std::optional<Duration> wait;
    if (failure->retry_after_ms) wait = std::chrono::milliseconds(*failure->retry_after_ms);
    return put_back(operation, wait, failure->message);
  }
  operation.status = OperationStatus::kCompleted;
  const std::scoped_lock lock(mutex_);
  queue({bank, OperationType::kConsolidation});  // which this may have added
}

void OperationRunner::watch_time() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    changed_.wait_for(lock, kTick);
    if (stopping_) return;
    const int64_t now = now_ms();
    std::vector<Work> due;
    for (const auto& [work, at] : due_ms_) {
      if (at <= now) due.push_back(work);
    }
    for (const Work& work : due)
      queue(work);
    lock.unlock();
    renew_leases(now);
    lock.lock();
  }
}

// A call of a model may take longer than a lease.
void OperationRunner::renew_leases(int64_t now_ms) {
  struct Due {
    BankId bank;
    OperationId operation;
    std::shared_ptr<BankStore> store;
  };
  std::vector<Due> due;
  {
    const std::scoped_lock lock(mutex_);
    for (auto& [work, running] : running_) {
      if (now_ms - running.renewed_ms < options_.lease_ms / 3) continue;
      running.renewed_ms = now_ms;
      due.push_back({.bank = work.first, .operation = running.operation, .store = running.store});
    }
  }
  for (const Due& one : due) {
    const Result<void> renewed =
        one.store->renew(one.operation, options_.worker, {}, now_ms, options_.lease_ms);
    if (!renewed && renewed.error().kind == ErrorKind::kConflict) cancel(one.bank, one.operation);
  }
}

RunnerReadings OperationRunner::readings() const {
  const std::scoped_lock lock(mutex_);
  return readings_;
}

}  // namespace windrow::memory
