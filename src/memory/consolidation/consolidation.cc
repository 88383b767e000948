#include "memory/consolidation/consolidation.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <limits>
#include <map>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "memory/bank/embedding_model.h"
#include "memory/bank/new_id.h"
#include "memory/consolidation/batch_driver.h"
#include "memory/consolidation/new_embeddings.h"
#include "memory/consolidation/run_log.h"
#include "memory/consolidation/scope_schedule.h"

namespace windrow::memory {
namespace {

// How often the clock is looked at while a scope waits for its time.
constexpr auto kLookInterval = std::chrono::milliseconds(50);

// How often a response may come too late before its batch waits like a failed one.
constexpr int32_t kStaleMax = 8;

// The mean of a number over time.
class TimeMean {
 public:
  void change(int32_t by, TimePoint now) {
    advance(now);
    value_ += by;
  }
  int32_t value() const { return value_; }
  double mean(TimePoint begin, TimePoint now) {
    advance(now);
    const double all = seconds(now - begin);
    return all > 0 ? area_ / all : 0;
  }

 private:
  void advance(TimePoint now) {
    if (last_) area_ += value_ * seconds(now - *last_);
    last_ = now;
  }

  int32_t value_ = 0;
  double area_ = 0;
  std::optional<TimePoint> last_;
};

int32_t batch_facts_max(const BankConfig& config) {
  const int32_t own = std::max(config.consolidation_llm_batch_size, 1);
  const int32_t of_profile = limits_of(config.prompt_profile).facts_max;
  return of_profile > 0 ? std::min(own, of_profile) : own;
}

}  // namespace

// One run: which batches are in flight, what becomes of those that end, and when it is over. All of
// it is decided under one mutex; a BatchDriver does the batches without it.
class ConsolidationRun {
 public:
  ConsolidationRun(BankStore& store, MemoryModels& models, async::Executor& executor,
                   const Clock& clock, const ConsolidationOptions& options,
                   const ConsolidationListener& listener, const std::stop_token& cancel);

  ConsolidationReport run();

 private:
  Result<void> begin();
  Result<void> add_bare(bool has_facts);

  // With the lock:
  void hand_out();
  bool is_finished() const;
  void wait(std::unique_lock<std::mutex>& lock);
  ConsolidationReport report();

  // How a batch ends:
  void ended(BatchOutcome outcome);
  void tell_of(const BatchOutcome& outcome);
  void land(BatchOutcome& outcome);
  void fail(BatchOutcome& outcome);
  void stop(ConsolidationEnd end, std::string why, std::optional<Duration> wait_for = {},
            bool is_of_bank = false);

  BankStore& store_;
  MemoryModels& models_;
  const Clock& clock_;
  const ConsolidationOptions& options_;
  const ConsolidationListener& listener_;
  const TimePoint began_;
  const bool embeds_;  // there is an embedding model
  std::stop_source unwanted_;

  std::mutex listener_mutex_;  // before mutex_
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  ScopeSchedule schedule_;
  std::set<Scope> held_back_;  // scopes that wait for embeddings
  std::set<Scope> folding_;    // scopes without batches, whose last twins are being folded
  std::optional<RunLog> log_;
  TimeMean in_flight_;
  int64_t total_ = 0;
  int64_t answers_ = 0;                           // batches that the model replied to
  std::map<MemoryId, int64_t> answers_at_fault_;  // when a batch first failed, by its first fact
  std::optional<ConsolidationEnd> end_;           // the run ends early
  std::string error_;
  std::optional<Duration> retry_after_;
  bool is_of_bank_ = false;
  bool is_final_ = false;

  NewEmbeddings embeddings_;
  BatchDriver driver_;
  std::stop_callback<std::function<void()>> cancel_;
};

ConsolidationRun::ConsolidationRun(BankStore& store, MemoryModels& models,
                                   async::Executor& executor, const Clock& clock,
                                   const ConsolidationOptions& options,
                                   const ConsolidationListener& listener,
                                   const std::stop_token& cancel)
    : store_(store),
      models_(models),
      clock_(clock),
      options_(options),
      listener_(listener),
      began_(clock.now()),
      embeds_(!models.embed_fault(options.config.embed_model)),
      schedule_(batch_facts_max(options.config), std::max(options.in_flight_max, 1)),
      embeddings_(store, models, executor, options.config, options.caller, embeds_,
                  unwanted_.get_token(),
                  [this] {
                    const std::scoped_lock lock(mutex_);
                    changed_.notify_all();
                  }),
      driver_({.store = store,
               .models = models,
               .executor = executor,
               .clock = clock,
               .config = options.config,
               .caller = options.caller,
               .embeddings = embeddings_,
               .new_id = options.new_id ? options.new_id : [] { return MemoryId{new_uuid()}; },
               .unwanted = unwanted_.get_token(),
               .on_calls =
                   [this](int32_t change) {
                     const std::scoped_lock lock(mutex_);
                     in_flight_.change(change, clock_.now());
                   }}),
      cancel_(cancel, [this] { stop(ConsolidationEnd::kCancelled, ""); }) {}

ConsolidationReport ConsolidationRun::run() {
  if (const Result<void> begun = begin(); !begun) {
    is_final_ = begun.error().kind == ErrorKind::kConflict;
    stop(ConsolidationEnd::kFailed, begun.error().message, {}, true);
  }
  std::unique_lock lock(mutex_);
  for (;;) {
    hand_out();
    if (is_finished()) return report();
    if (end_ && !unwanted_.stop_requested()) {
      // Calls that this ends report it under the lock.
      lock.unlock();
      unwanted_.request_stop();
      lock.lock();
      continue;
    }
    wait(lock);
  }
}

// Reads what there is to do.
Result<void> ConsolidationRun::begin() {
  log_.emplace(options_.bank, 0);
  const Result<std::vector<PendingFact>> pending = store_.pending_facts();
  if (!pending) return pending.error();
  if (embeds_) {
    const Result<void> added = add_bare(!pending->empty());
    if (!added) return added.error();
  }
  const std::scoped_lock lock(mutex_);
  for (const PendingFact& fact : *pending) {
    schedule_.add(fact);
    total_ += std::ssize(fact.scopes_left);
  }
  log_.emplace(options_.bank, total_);
  in_flight_.change(0, clock_.now());
  return {};
}

// Memories without an embedding: an earlier run ended before they had one, their text was edited,
// or there was no embedding model.
Result<void> ConsolidationRun::add_bare(bool has_facts) {
  const Result<std::vector<Memory>> bare =
      store_.without_embedding(std::numeric_limits<int64_t>::max());
  if (!bare) return bare.error();
  if (bare->empty() && !has_facts) return {};
  const Result<void> taken =
      take_embedding_model(store_, models_.embed_model_name(options_.config.embed_model));
  if (!taken) return taken.error();
  std::map<std::optional<Scope>, std::vector<MemoryId>> bare_by_scope;
  for (const Memory& memory : *bare) {
    const bool is_fact = memory.type != MemoryType::kObservation;
    bare_by_scope[is_fact ? std::nullopt : std::optional(memory.tags)].push_back(memory.id);
  }
  for (const auto& [scope, ids] : bare_by_scope)
    embeddings_.add(scope, ids);
  return {};
}

ConsolidationReport ConsolidationRun::report() {
  const TimePoint now = clock_.now();
  ConsolidationReport report;
  report.end =
      end_.value_or(total_ == 0 ? ConsolidationEnd::kNoNewMemories : ConsolidationEnd::kCompleted);
  report.counts = log_->counts();
  report.error = error_;
  report.retry_after = retry_after_;
  report.is_of_bank = is_of_bank_;
  report.is_final = is_final_;
  report.wall_s = seconds(now - began_);
  report.recall_s = seconds(log_->times().recall);
  report.model_s = seconds(log_->times().model);
  report.commit_s = seconds(log_->times().commit);
  report.mean_in_flight = in_flight_.mean(began_, now);
  report.table = log_->table(now - began_, report.mean_in_flight);
  return report;
}

void ConsolidationRun::hand_out() {
  if (end_) return;
  if (const std::optional<llm::Failure> failure = embeddings_.failure()) {
    const FailureVerdict verdict = verdict_of(*failure);
    end_ = verdict.failure == BatchFailure::kStop ? ConsolidationEnd::kStopped
                                                  : ConsolidationEnd::kFailed;
    retry_after_ = verdict.wait;
    is_of_bank_ = failure->code == kBankFailureCode;
    is_final_ = is_of_bank_ && failure->failure_class == llm::FailureClass::kRequest;
    if (error_.empty()) error_ = fmt::format("embeddings: {}", failure->message);
    return;
  }
  std::erase_if(held_back_, [&](const Scope& scope) {
    if (!embeddings_.has_room(scope)) return false;
    schedule_.release(scope);
    return true;
  });
  const auto start = [&](ScopeBatch batch) {
    driver_.start(std::move(batch), [this](BatchOutcome outcome) { ended(std::move(outcome)); });
  };
  while (std::optional<ScopeBatch> batch = schedule_.next(clock_.now())) {
    if (embeddings_.has_room(batch->scope)) {
      start(*std::move(batch));
    } else {
      schedule_.hold_back(*batch);
      held_back_.insert(batch->scope);
    }
  }
  if (!schedule_.is_done()) return;
  // Twins of scopes that have no batch any more.
  for (Scope& scope : embeddings_.scopes_with_twins()) {
    if (std::ssize(folding_) >= options_.in_flight_max) break;
    if (folding_.insert(scope).second) start({.number = 0, .scope = std::move(scope), .facts = {}});
  }
}

bool ConsolidationRun::is_finished() const {
  const bool idle = schedule_.in_flight() == 0 && folding_.empty() && embeddings_.idle();
  if (end_) return idle;
  // A failure that came since hand_out() is its to see.
  return idle && !embeddings_.failure() && schedule_.is_done() &&
         embeddings_.scopes_with_twins().empty();
}

void ConsolidationRun::wait(std::unique_lock<std::mutex>& lock) {
  const std::optional<TimePoint> due = end_ ? std::nullopt : schedule_.next_due();
  if (!due) {
    changed_.wait(lock);
    return;
  }
  if (*due <= clock_.now() && schedule_.in_flight() < options_.in_flight_max) return;
  changed_.wait_for(lock, kLookInterval);
}

// --- how a batch ends ----------------------------------------------------------------------------

void ConsolidationRun::ended(BatchOutcome outcome) {
  if (outcome.end == BatchOutcome::End::kFailed) {
    fail(outcome);
  } else {
    tell_of(outcome);
  }
  const std::scoped_lock lock(mutex_);
  land(outcome);
  changed_.notify_all();
}

// The line of a batch and the progress, in the order in which batches end.
void ConsolidationRun::tell_of(const BatchOutcome& outcome) {
  bool goes_on = true;
  {
    const std::scoped_lock listener_lock(listener_mutex_);
    std::vector<std::string> lines;
    ConsolidationProgress progress;
    const ScopeBatch& batch = outcome.batch;
    if (outcome.end == BatchOutcome::End::kStale) {
      lines.push_back(fmt::format("[CONSOLIDATION] bank={} llm_batch #{} is done again: {}",
                                  options_.bank, batch.number, outcome.fault.why));
    }
    for (const Rejected& rejected : outcome.rejected) {
      lines.push_back(fmt::format("[CONSOLIDATION] bank={} llm_batch #{} rejected ({}): {}",
                                  options_.bank, batch.number, to_string(rejected.kind),
                                  rejected.what));
    }
    {
      const std::scoped_lock lock(mutex_);
      const bool is_applied = outcome.end == BatchOutcome::End::kApplied;
      if (outcome.is_answered) ++answers_;
      if (is_applied && !batch.facts.empty()) answers_at_fault_.erase(batch.facts.front());
      std::string line = log_->add({.number = batch.number,
                                    .scope = batch.scope,
                                    .facts = batch.facts.size(),
                                    .observations_shown = outcome.observations_shown,
                                    .times = outcome.times,
                                    .counts = outcome.counts},
                                   clock_.now() - began_);
      if (is_applied) lines.push_back(std::move(line));
      progress = {.processed = log_->counts().facts_processed,
                  .total = total_,
                  .counts = log_->counts(),
                  .in_flight = in_flight_.value()};
    }
    for (const std::string& line : lines)
      if (listener_.on_line) listener_.on_line(line);
    if (listener_.on_progress) goes_on = listener_.on_progress(progress);
  }
  if (!goes_on) stop(ConsolidationEnd::kCancelled, "");
}

// Takes it out of flight; with the lock. A batch that failed was taken out by fail().
void ConsolidationRun::land(BatchOutcome& outcome) {
  ScopeBatch& batch = outcome.batch;
  if (batch.facts.empty()) {
    folding_.erase(batch.scope);
  } else if (outcome.end == BatchOutcome::End::kApplied) {
    schedule_.done(batch);
  } else if (outcome.end == BatchOutcome::End::kStale) {
    const int32_t waits = batch.attempts - kStaleMax;
    const Duration pause = waits >= 0 ? backoff_of(waits + 1) : Duration{};
    schedule_.again(std::move(batch), clock_.now() + pause);
  }
}

void ConsolidationRun::fail(BatchOutcome& outcome) {
  const ScopeBatch& batch = outcome.batch;
  const BatchFault& fault = outcome.fault;
  const std::string named = fmt::format("llm_batch #{} of scope {} ({} memories): {}", batch.number,
                                        name_of(batch.scope), batch.facts.size(), fault.why);
  if (batch.facts.empty() || fault.failure == BatchFailure::kStop)
    stop(fault.is_of_store ? ConsolidationEnd::kFailed : ConsolidationEnd::kStopped, named,
         fault.wait, fault.is_of_store);
  if (listener_.on_line) {
    const std::scoped_lock listener_lock(listener_mutex_);
    listener_.on_line(fmt::format("[CONSOLIDATION] bank={} {}", options_.bank, named));
  }
  if (batch.facts.empty()) return;

  const bool is_single = batch.facts.size() == 1;
  const bool tries_again = batch.attempts + 1 < options_.config.consolidation_max_attempts;
  const bool halves = !is_single && (fault.failure == BatchFailure::kHalve || !tries_again);
  bool hopeless = false;
  {
    const std::scoped_lock lock(mutex_);
    // A fact is taken to be the cause only if others were answered since it first failed.
    const int64_t since =
        answers_at_fault_.try_emplace(batch.facts.front(), answers_).first->second;
    hopeless = !end_ && fault.failure != BatchFailure::kStop && is_single && !tries_again &&
               (fault.is_of_facts || answers_ > since);
    if (hopeless && error_.empty()) error_ = named;
  }
  if (hopeless) {
    const Result<void> marked =
        store_.mark_failed(outcome.facts, fault.why, clock_.unix_seconds() * 1000);
    if (!marked) stop(ConsolidationEnd::kFailed, marked.error().message, {}, true);
    ++outcome.counts.facts_failed;
    ++outcome.counts.facts_processed;
    ++outcome.counts.batches;
  } else if (is_single && !tries_again) {
    stop(ConsolidationEnd::kFailed, named);
  }
  const std::scoped_lock lock(mutex_);
  if (hopeless || end_) {
    schedule_.done(batch);
  } else if (halves) {
    ++outcome.counts.splits;
    answers_at_fault_.erase(batch.facts.front());
    schedule_.split(batch);
  } else {
    const Duration pause =
        fault.failure == BatchFailure::kRetry ? backoff_of(batch.attempts + 1) : Duration{};
    schedule_.again(batch, clock_.now() + pause);
  }
  log_->add({.scope = batch.scope, .times = outcome.times, .counts = outcome.counts},
            clock_.now() - began_);
}

// The first cause is kept; what runs is ended.
void ConsolidationRun::stop(ConsolidationEnd end, std::string why, std::optional<Duration> wait_for,
                            bool is_of_bank) {
  {
    const std::scoped_lock lock(mutex_);
    if (!end_) {
      end_ = end;
      retry_after_ = wait_for;
      is_of_bank_ = is_of_bank;
      if (error_.empty()) error_ = std::move(why);
    }
    changed_.notify_all();
  }
  unwanted_.request_stop();
}

ConsolidationReport consolidate(BankStore& store, MemoryModels& models, async::Executor& executor,
                                const Clock& clock, const ConsolidationOptions& options,
                                const ConsolidationListener& listener, std::stop_token cancel) {
  if (const std::optional<llm::Failure> fault = models.chat_fault(options.config.chat_model)) {
    ConsolidationReport report;
    report.end = ConsolidationEnd::kStopped;
    report.error = fault->message;
    return report;
  }
  ConsolidationRun run(store, models, executor, clock, options, listener, cancel);
  return run.run();
}

}  // namespace windrow::memory
