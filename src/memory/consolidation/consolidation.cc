#include "memory/consolidation/consolidation.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <utility>
#include <variant>
#include <vector>

#include "async/in_flight_counter.h"
#include "memory/bank/new_id.h"
#include "memory/consolidation/batch_flow.h"
#include "memory/consolidation/failure_policy.h"
#include "memory/consolidation/new_embeddings.h"
#include "memory/consolidation/run_log.h"
#include "memory/consolidation/scope_schedule.h"

namespace windrow::memory {
namespace {

// How often the clock is looked at while a scope waits for its time, and cancellation for a scope.
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

// One batch on its way. Its steps run one after the other.
struct Work {
  ScopeBatch batch;  // without facts: only twins are folded
  std::vector<Twins> twins;
  std::optional<BatchFlow> flow;
  std::optional<TimePoint> asked;
  BatchTimes times;
  ConsolidationCounts counts;
};
using WorkPtr = std::shared_ptr<Work>;

// Why a batch failed.
struct BatchFault {
  BatchFailure failure = BatchFailure::kRetry;
  std::string why;
  std::optional<Duration> wait = {};                  // kStop
  ConsolidationEnd end = ConsolidationEnd::kStopped;  // kStop
  bool is_of_bank = false;                            // kStop
  bool is_of_facts = false;  // kHalve: the facts are the cause, whatever happens to other batches
};

BatchFault fault_of(const llm::Failure& failure) {
  constexpr int32_t kTooLarge = 413;
  const FailureVerdict verdict = verdict_of(failure);
  return {.failure = verdict.failure,
          .why = failure.message,
          .wait = verdict.wait,
          .is_of_facts = failure.prompt_excess.has_value() || failure.status == kTooLarge ||
                         failure.code == "context_length_exceeded"};
}

BatchFault malformed(std::string why) {
  return {.failure = BatchFailure::kHalve, .why = std::move(why), .is_of_facts = true};
}

// Facts of a source list within a number of tokens for one observation and for all.
std::map<MemoryId, std::vector<Memory>> within_tokens(const std::vector<Memory>& observations,
                                                      const std::vector<Memory>& sources,
                                                      const BankConfig& config,
                                                      MemoryModels& models) {
  std::map<MemoryId, const Memory*> by_id;
  for (const Memory& source : sources)
    by_id[source.id] = &source;
  std::map<MemoryId, std::vector<Memory>> shown;
  int64_t left = config.consolidation_source_facts_max_tokens;
  for (const Memory& observation : observations) {
    int64_t own = config.consolidation_source_facts_max_tokens_per_observation;
    for (const MemoryId& id : observation.sources) {
      const auto found = by_id.find(id);
      if (found == by_id.end()) continue;
      const int64_t tokens = models.count_tokens(found->second->text);
      if (tokens > own || tokens > left) break;
      own -= tokens;
      left -= tokens;
      shown[observation.id].push_back(*found->second);
    }
  }
  return shown;
}

const Memory* find_in(const std::vector<Memory>& memories, const MemoryId& id) {
  const auto found = std::ranges::find(memories, id, &Memory::id);
  return found == memories.end() ? nullptr : &*found;
}

// A task counts as running until the locks of its last step are released.
struct TaskEnd {
  async::InFlightCounter& tasks;
  explicit TaskEnd(async::InFlightCounter& counter) : tasks(counter) {}
  ~TaskEnd() { tasks.leave(); }
  TaskEnd(const TaskEnd&) = delete;
  TaskEnd& operator=(const TaskEnd&) = delete;
};

}  // namespace

// One run. Decisions about the run are made under its mutex; the steps of batches read, ask and
// write without it.
class ConsolidationRun {
 public:
  ConsolidationRun(BankStore& store, MemoryModels& models, async::Executor& executor,
                   const Clock& clock, const ConsolidationOptions& options,
                   const ConsolidationListener& listener, const std::stop_token& cancel);

  ConsolidationReport run();

 private:
  // On the thread of the run, with its lock:
  void hand_out();
  bool is_finished() const;
  void wait(std::unique_lock<std::mutex>& lock);

  // The steps of a batch, on the executor:
  void begin(const WorkPtr& work);
  void read(const WorkPtr& work);
  void fold_twins(const WorkPtr& work);
  void ask(const WorkPtr& work, ChatCall call,
           void (ConsolidationRun::*then)(const WorkPtr&, ChatOutcome));
  void answered(const WorkPtr& work, ChatOutcome outcome);
  void fold_answered(const WorkPtr& work, ChatOutcome outcome);
  void apply(const WorkPtr& work, BatchDecision decision);

  // How a batch ends:
  void succeed(const WorkPtr& work);
  void fail(const WorkPtr& work, BatchFault fault);
  void fail_of_store(const WorkPtr& work, const Error& error);
  void stop(ConsolidationEnd end, std::string why, std::optional<Duration> wait_for,
            bool is_of_bank = false);
  void tell(const std::string& line);

  BankStore& store_;
  MemoryModels& models_;
  async::Executor& executor_;
  const Clock& clock_;
  const ConsolidationOptions& options_;
  const ConsolidationListener& listener_;
  const TimePoint began_;
  std::function<MemoryId()> new_id_;
  std::stop_source unwanted_;

  std::mutex listener_mutex_;  // before mutex_
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  ScopeSchedule schedule_;
  std::deque<ScopeBatch> held_back_;  // handed out, but their scopes wait for embeddings
  std::set<Scope> folding_;           // scopes whose last twins are being folded
  std::optional<RunLog> log_;
  TimeMean in_flight_;
  int32_t calls_ = 0;  // of the model, now
  int64_t total_ = 0;
  int64_t answers_ = 0;                           // usable ones of the model
  std::map<MemoryId, int64_t> answers_at_fault_;  // when a batch first failed, by its first fact
  std::optional<ConsolidationEnd> end_;           // the run ends early
  std::string error_;
  std::optional<Duration> retry_after_;
  bool is_of_bank_ = false;

  async::InFlightCounter tasks_;
  std::optional<NewEmbeddings> embeddings_;
  std::stop_callback<std::function<void()>> cancel_;
};

ConsolidationRun::ConsolidationRun(BankStore& store, MemoryModels& models,
                                   async::Executor& executor, const Clock& clock,
                                   const ConsolidationOptions& options,
                                   const ConsolidationListener& listener,
                                   const std::stop_token& cancel)
    : store_(store),
      models_(models),
      executor_(executor),
      clock_(clock),
      options_(options),
      listener_(listener),
      began_(clock.now()),
      schedule_(
          [&] {
            const int32_t own = std::max(options.config.consolidation_llm_batch_size, 1);
            const int32_t of_profile = limits_of(options.config.prompt_profile).facts_max;
            return of_profile > 0 ? std::min(own, of_profile) : own;
          }(),
          std::max(options.in_flight_max, 1)),
      cancel_(cancel, [this] { stop(ConsolidationEnd::kCancelled, "", std::nullopt); }) {
  new_id_ = options.new_id ? options.new_id : [] { return MemoryId{new_uuid()}; };
  const bool embeds = !models.embed_fault(options.config.embed_model);
  embeddings_.emplace(store, models, executor, options.config, options.caller, embeds,
                      unwanted_.get_token(), [this] {
                        const std::scoped_lock lock(mutex_);
                        changed_.notify_all();
                      });
}

ConsolidationReport ConsolidationRun::run() {
  ConsolidationReport report;
  const auto failed = [&](const Error& error) {
    report.end = ConsolidationEnd::kFailed;
    report.error = error.message;
    report.is_of_bank = true;
    return report;
  };
  const Result<std::vector<PendingFact>> pending = store_.pending_facts();
  if (!pending) return failed(pending.error());
  if (pending->empty()) {
    report.end = ConsolidationEnd::kNoNewMemories;
    return report;
  }
  const Result<std::vector<Memory>> bare = store_.without_embedding(INT64_MAX);
  if (!bare) return failed(bare.error());
  std::map<Scope, std::vector<MemoryId>> bare_by_scope;
  for (const Memory& observation : *bare)
    bare_by_scope[observation.tags].push_back(observation.id);
  for (auto& [scope, ids] : bare_by_scope)
    embeddings_->add(scope, std::move(ids));

  std::unique_lock lock(mutex_);
  for (const PendingFact& fact : *pending) {
    schedule_.add(fact);
    total_ += std::ssize(fact.scopes_left);
  }
  log_.emplace(options_.bank, total_);
  in_flight_.change(0, clock_.now());
  for (;;) {
    hand_out();
    if (is_finished()) break;
    if (end_ && !unwanted_.stop_requested()) {
      // Calls that this ends report it under the lock.
      lock.unlock();
      unwanted_.request_stop();
      lock.lock();
      continue;
    }
    wait(lock);
  }
  lock.unlock();
  tasks_.wait_for_none();
  embeddings_.reset();
  const TimePoint now = clock_.now();
  report.end = end_.value_or(ConsolidationEnd::kCompleted);
  report.counts = log_->counts();
  report.error = error_;
  report.retry_after = retry_after_;
  report.is_of_bank = is_of_bank_;
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
  if (const std::optional<llm::Failure> failure = embeddings_->failure()) {
    end_ = ConsolidationEnd::kFailed;
    const FailureVerdict verdict = verdict_of(*failure);
    if (verdict.failure == BatchFailure::kStop) end_ = ConsolidationEnd::kStopped;
    retry_after_ = verdict.wait;
    is_of_bank_ = failure->code == kBankFailureCode;
    if (error_.empty()) error_ = fmt::format("embeddings: {}", failure->message);
    return;
  }
  std::vector<ScopeBatch> batches;
  for (auto held = held_back_.begin(); held != held_back_.end();) {
    if (!embeddings_->has_room(held->scope)) {
      ++held;
      continue;
    }
    batches.push_back(std::move(*held));
    held = held_back_.erase(held);
  }
  while (std::optional<ScopeBatch> batch = schedule_.next(clock_.now())) {
    if (embeddings_->has_room(batch->scope)) {
      batches.push_back(*std::move(batch));
    } else {
      held_back_.push_back(*std::move(batch));
    }
  }
  // Twins of scopes that have no batch any more.
  if (schedule_.is_done()) {
    for (Scope& scope : embeddings_->scopes_with_twins()) {
      if (std::ssize(folding_) >= options_.in_flight_max) break;
      if (!folding_.insert(scope).second) continue;
      batches.push_back({.number = 0, .scope = std::move(scope), .facts = {}});
    }
  }
  for (ScopeBatch& batch : batches) {
    auto work = std::make_shared<Work>();
    work->batch = std::move(batch);
    tasks_.enter();
    executor_.post([this, work] { begin(work); });
  }
}

bool ConsolidationRun::is_finished() const {
  const bool idle =
      schedule_.in_flight() == std::ssize(held_back_) && folding_.empty() && embeddings_->idle();
  if (end_) return idle;
  return idle && schedule_.is_done() && embeddings_->scopes_with_twins().empty();
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

void ConsolidationRun::begin(const WorkPtr& work) {
  work->twins = embeddings_->take_twins(work->batch.scope);
  fold_twins(work);
}

// Folds the twins of the scope one after the other, then goes on to the facts.
void ConsolidationRun::fold_twins(const WorkPtr& work) {
  while (!work->twins.empty()) {
    const Twins& twins = work->twins.back();
    const std::vector<MemoryId> ids = {twins.older, twins.newer};
    const Result<std::vector<Memory>> both = store_.memories(ids);
    if (!both) return fail_of_store(work, both.error());
    const Memory* older = find_in(*both, twins.older);
    const Memory* newer = find_in(*both, twins.newer);
    if (older == nullptr || newer == nullptr) {
      work->twins.pop_back();
      continue;
    }
    const FoldPrompt prompt = fold_prompt(*older, *newer, options_.config.prompt_profile);
    return ask(work,
               {.model = options_.config.chat_model,
                .system = prompt.system,
                .user = prompt.user,
                .schema = prompt.schema,
                .schema_name = "merge_or_keep",
                .temperature = 0,
                .completion_tokens_max = options_.config.consolidation_max_completion_tokens,
                .extra_body = options_.config.consolidation_extra_body,
                .caller = options_.caller},
               &ConsolidationRun::fold_answered);
  }
  if (work->batch.facts.empty()) return succeed(work);
  read(work);
}

void ConsolidationRun::fold_answered(const WorkPtr& work, ChatOutcome outcome) {
  const Twins twins = work->twins.back();
  work->twins.pop_back();
  const auto* reply = std::get_if<ChatReply>(&outcome);
  if (reply == nullptr) {
    // Without an answer the two stay apart.
    const auto& failure = std::get<llm::Failure>(outcome);
    BatchFault fault = fault_of(failure);
    if (fault.failure == BatchFailure::kStop) return fail(work, std::move(fault));
    return fold_twins(work);
  }
  const std::string text = reply->truncated ? "" : fold_text(reply->text);
  if (text.empty()) return fold_twins(work);
  const std::vector<MemoryId> ids = {twins.older, twins.newer};
  const Result<std::vector<Memory>> both = store_.memories(ids);
  if (!both) return fail_of_store(work, both.error());
  const Memory* older = find_in(*both, twins.older);
  const Memory* newer = find_in(*both, twins.newer);
  if (older == nullptr || newer == nullptr) return fold_twins(work);
  const BatchEffects effects{
      .scope = work->batch.scope,
      .deletes = {newer->id},
      .updates = {{.id = older->id, .text = text, .new_sources = newer->sources}},
      .creates = {},
      .facts = {},
      .witnesses = {{older->id, older->version}, {newer->id, newer->version}},
      .observations_max = -1,
      .history_max = options_.config.enable_observation_history
                         ? options_.config.observation_history_max_entries
                         : 0};
  const Result<void> applied = store_.apply(effects, clock_.unix_seconds() * 1000);
  if (!applied && applied.error().kind != ErrorKind::kConflict)
    return fail_of_store(work, applied.error());
  if (applied) {
    ++work->counts.observations_merged;
    embeddings_->add(work->batch.scope, {older->id});
  }
  fold_twins(work);
}

void ConsolidationRun::read(const WorkPtr& work) {
  const TimePoint start = clock_.now();
  const ScopeBatch& batch = work->batch;
  BatchRead read;
  Result<std::vector<Memory>> facts = store_.memories(batch.facts);
  if (!facts) return fail_of_store(work, facts.error());
  read.facts = *std::move(facts);
  std::erase_if(read.facts, [](const Memory& fact) {
    return fact.invalidated.has_value() || fact.consolidated.has_value();
  });
  // Facts that were removed, or edited so that they feed other scopes, are the next run's.
  std::erase_if(read.facts, [&](const Memory& fact) {
    const std::vector<Scope> scopes = resolve_scopes(fact.tags, fact.scopes);
    return std::ranges::find(scopes, batch.scope) == scopes.end();
  });
  if (read.facts.empty()) return succeed(work);
  Result<std::vector<Memory>> observations = store_.observations_of(batch.scope);
  if (!observations) return fail_of_store(work, observations.error());
  read.observations = *std::move(observations);
  std::vector<std::string> texts;
  for (const Memory& fact : read.facts)
    texts.push_back(fact.text);
  Result<std::vector<BankStore::Repeated>> repeated = store_.repeated(batch.scope, texts);
  if (!repeated) return fail_of_store(work, repeated.error());
  read.repeated = *std::move(repeated);
  std::vector<MemoryId> repeated_ids;
  for (const BankStore::Repeated& one : read.repeated)
    repeated_ids.push_back(one.fact);
  Result<std::vector<Memory>> repeated_facts = store_.memories(repeated_ids);
  if (!repeated_facts) return fail_of_store(work, repeated_facts.error());
  read.repeated_facts = *std::move(repeated_facts);
  const std::vector<Memory> shown = read.observations;
  work->flow.emplace(
      batch.scope, std::move(read), options_.config,
      [this](std::string_view text) { return models_.count_tokens(text); }, new_id_);
  if (!work->flow->needs_model()) {
    work->times.recall += clock_.now() - start;
    return apply(work, work->flow->decide_without_model());
  }
  std::map<MemoryId, std::vector<Memory>> sources;
  if (options_.config.prompt_profile == PromptProfile::kHindsight) {
    const Result<std::vector<Memory>> read_sources = store_.memories(work->flow->sources_shown());
    if (!read_sources) return fail_of_store(work, read_sources.error());
    sources = within_tokens(shown, *read_sources, options_.config, models_);
  }
  ChatCall call = work->flow->question(options_.caller, std::move(sources));
  work->times.recall += clock_.now() - start;
  ask(work, std::move(call), &ConsolidationRun::answered);
}

void ConsolidationRun::ask(const WorkPtr& work, ChatCall call,
                           void (ConsolidationRun::*then)(const WorkPtr&, ChatOutcome)) {
  const TimePoint now = clock_.now();
  work->asked = now;
  ++work->counts.llm_calls;
  {
    const std::scoped_lock lock(mutex_);
    in_flight_.change(1, now);
    ++calls_;
  }
  models_.chat(std::move(call), unwanted_.get_token(), [this, work, then](ChatOutcome outcome) {
    const TimePoint end = clock_.now();
    {
      const std::scoped_lock lock(mutex_);
      in_flight_.change(-1, end);
      --calls_;
    }
    work->times.model += end - *work->asked;
    executor_.post([this, work, then, outcome = std::move(outcome)]() mutable {
      if (const auto* reply = std::get_if<ChatReply>(&outcome)) {
        work->counts.input_tokens += reply->usage.prompt_tokens;
        work->counts.output_tokens += reply->usage.completion_tokens;
      }
      (this->*then)(work, std::move(outcome));
    });
  });
}

void ConsolidationRun::answered(const WorkPtr& work, ChatOutcome outcome) {
  if (const auto* failure = std::get_if<llm::Failure>(&outcome))
    return fail(work, fault_of(*failure));
  const auto& reply = std::get<ChatReply>(outcome);
  if (reply.truncated) {
    return fail(work, malformed("the response was cut off at its token limit "
                                "(consolidation_max_completion_tokens, or the model's context)"));
  }
  Result<BatchDecision> decision = work->flow->decide(reply.text);
  if (!decision) return fail(work, malformed(decision.error().message));
  apply(work, *std::move(decision));
}

void ConsolidationRun::apply(const WorkPtr& work, BatchDecision decision) {
  const TimePoint start = clock_.now();
  const Result<void> applied = store_.apply(decision.effects, clock_.unix_seconds() * 1000);
  work->times.commit += clock_.now() - start;
  if (!applied) {
    const ErrorKind kind = applied.error().kind;
    if (kind != ErrorKind::kConflict && kind != ErrorKind::kUnavailable)
      return fail_of_store(work, applied.error());
    // Something that the response was made from has changed: the batch is done again.
    ++work->counts.stale;
    tell(fmt::format("[CONSOLIDATION] bank={} llm_batch #{} is done again: {}", options_.bank,
                     work->batch.number, applied.error().message));
    const TaskEnd end(tasks_);
    const std::scoped_lock lock(mutex_);
    log_->add({.scope = work->batch.scope, .counts = work->counts}, {});
    const bool waits = work->batch.attempts >= kStaleMax;
    const Duration wait_for = waits ? backoff_of(work->batch.attempts - kStaleMax) : Duration{};
    schedule_.again(std::move(work->batch), clock_.now() + wait_for);
    changed_.notify_all();
    return;
  }
  ConsolidationCounts& counts = work->counts;
  counts.observations_created += std::ssize(decision.effects.creates);
  counts.observations_deleted += std::ssize(decision.effects.deletes);
  for (const auto& [fact, result] : decision.results) {
    if (result == FactResult::kSkipped) ++counts.facts_skipped;
    if (result == FactResult::kMerged) ++counts.observations_merged;
  }
  counts.observations_updated += std::ssize(decision.effects.updates);
  counts.actions_rejected += std::ssize(decision.rejected);
  for (const Rejected& rejected : decision.rejected) {
    tell(fmt::format("[CONSOLIDATION] bank={} llm_batch #{} rejected ({}): {}", options_.bank,
                     work->batch.number, to_string(rejected.kind), rejected.what));
  }
  std::vector<MemoryId> written;
  for (const CreateObservation& create : decision.effects.creates)
    written.push_back(create.id);
  for (const UpdateObservation& update : decision.effects.updates)
    written.push_back(update.id);
  embeddings_->add(work->batch.scope, std::move(written));
  succeed(work);
}

void ConsolidationRun::succeed(const WorkPtr& work) {
  const bool only_twins = work->batch.facts.empty();
  if (!only_twins) {
    ++work->counts.batches;
    work->counts.facts_processed += std::ssize(work->batch.facts);
  }
  const TaskEnd end(tasks_);
  std::string line;
  ConsolidationProgress progress;
  bool goes_on = true;
  {
    const std::scoped_lock listener_lock(listener_mutex_);
    {
      const std::scoped_lock lock(mutex_);
      ++answers_;
      if (!only_twins) answers_at_fault_.erase(work->batch.facts.front());
      line = log_->add({.number = work->batch.number,
                        .scope = work->batch.scope,
                        .facts = work->batch.facts.size(),
                        .observations_shown = work->flow ? work->flow->observations_shown() : 0,
                        .times = work->times,
                        .counts = work->counts},
                       clock_.now() - began_);
      progress = {.processed = log_->counts().facts_processed,
                  .total = total_,
                  .counts = log_->counts(),
                  .in_flight = calls_};
    }
    if (listener_.on_line) listener_.on_line(line);
    if (listener_.on_progress) goes_on = listener_.on_progress(progress);
  }
  if (!goes_on) stop(ConsolidationEnd::kCancelled, "", std::nullopt);
  const std::scoped_lock lock(mutex_);
  if (only_twins) {
    folding_.erase(work->batch.scope);
  } else {
    schedule_.done(work->batch);
  }
  changed_.notify_all();
}

void ConsolidationRun::fail(const WorkPtr& work, BatchFault fault) {
  const TaskEnd task_end(tasks_);
  ScopeBatch& batch = work->batch;
  const std::string named = fmt::format("llm_batch #{} of scope {} ({} memories): {}", batch.number,
                                        name_of(batch.scope), batch.facts.size(), fault.why);
  const bool is_single = batch.facts.size() == 1;
  const bool tries_again = batch.attempts + 1 < options_.config.consolidation_max_attempts;
  bool hopeless = false;
  {
    const std::scoped_lock lock(mutex_);
    const bool ends = end_.has_value();
    if (fault.failure == BatchFailure::kStop || ends || batch.facts.empty()) {
      if (batch.facts.empty()) folding_.erase(batch.scope);
    } else {
      const int64_t since =
          answers_at_fault_.try_emplace(batch.facts.front(), answers_).first->second;
      hopeless = is_single && !tries_again && (fault.is_of_facts || answers_ > since);
    }
  }
  if (fault.failure == BatchFailure::kStop) {
    stop(fault.end, named, fault.wait, fault.is_of_bank);
  } else {
    tell(fmt::format("[CONSOLIDATION] bank={} {}", options_.bank, named));
  }
  if (hopeless) {
    const Result<void> marked =
        store_.mark_failed(batch.facts, fault.why, clock_.unix_seconds() * 1000);
    if (!marked) stop(ConsolidationEnd::kFailed, marked.error().message, std::nullopt, true);
    work->counts.facts_failed += 1;
  } else if (fault.failure != BatchFailure::kStop && is_single && !tries_again) {
    // Nothing else was answered meanwhile, so the fact need not be the cause.
    stop(ConsolidationEnd::kFailed, named, std::nullopt);
  }
  const std::scoped_lock lock(mutex_);
  if (hopeless && error_.empty()) error_ = named;
  const bool ends = end_.has_value() && !hopeless;
  if (batch.facts.empty()) {
    // Twins stay apart.
  } else if (ends || hopeless) {
    if (hopeless) {
      ++work->counts.batches;
      ++work->counts.facts_processed;
    }
    schedule_.done(batch);
  } else if (!is_single && (fault.failure == BatchFailure::kHalve || !tries_again)) {
    ++work->counts.splits;
    answers_at_fault_.erase(batch.facts.front());
    schedule_.split(batch);
  } else {
    const Duration pause =
        fault.failure == BatchFailure::kRetry ? backoff_of(batch.attempts) : Duration{};
    schedule_.again(batch, clock_.now() + pause);
  }
  log_->add({.scope = work->batch.scope, .times = work->times, .counts = work->counts},
            clock_.now() - began_);
  changed_.notify_all();
}

void ConsolidationRun::fail_of_store(const WorkPtr& work, const Error& error) {
  fail(work, {.failure = BatchFailure::kStop,
              .why = error.message,
              .end = ConsolidationEnd::kFailed,
              .is_of_bank = true});
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

void ConsolidationRun::tell(const std::string& line) {
  if (!listener_.on_line) return;
  const std::scoped_lock lock(listener_mutex_);
  listener_.on_line(line);
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
