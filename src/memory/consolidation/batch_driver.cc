#include "memory/consolidation/batch_driver.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <variant>

namespace windrow::memory {
namespace {

BatchFault malformed(std::string why) {
  return {.failure = BatchFailure::kHalve, .why = std::move(why), .is_of_facts = true};
}

const Memory* find_in(const std::vector<Memory>& memories, const MemoryId& id) {
  const auto found = std::ranges::find(memories, id, &Memory::id);
  return found == memories.end() ? nullptr : &*found;
}

// The sources of observations, as many as may be shown: within a number of tokens for each
// observation and for all.
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

int32_t history_max_of(const BankConfig& config) {
  return config.enable_observation_history ? config.observation_history_max_entries : 0;
}

}  // namespace

BatchFault fault_of(const llm::Failure& failure) {
  constexpr int32_t kTooLarge = 413;
  const FailureVerdict verdict = verdict_of(failure);
  return {.failure = verdict.failure,
          .why = failure.message,
          .wait = verdict.wait,
          .is_of_facts = failure.answered || failure.prompt_excess.has_value() ||
                         failure.status == kTooLarge || failure.code == "context_length_exceeded"};
}

void BatchDriver::start(ScopeBatch batch, Done done) {
  auto work = std::make_shared<Work>();
  work->outcome.batch = std::move(batch);
  work->done = std::move(done);
  tasks_.enter();
  world_.executor.post([this, work] {
    work->twins = world_.embeddings.take_twins(work->outcome.batch.scope);
    fold_twins(work);
  });
}

// Folds the twins of the scope one after the other, then goes on to the facts.
void BatchDriver::fold_twins(const WorkPtr& work) {
  while (!work->twins.empty()) {
    const Twins& twins = work->twins.back();
    const std::vector<MemoryId> ids = {twins.older, twins.newer};
    const Result<std::vector<Memory>> both = world_.store.memories(ids);
    if (!both) return fail_of_store(work, both.error());
    const Memory* older = find_in(*both, twins.older);
    const Memory* newer = find_in(*both, twins.newer);
    if (older == nullptr || newer == nullptr) {
      work->twins.pop_back();
      continue;
    }
    const FoldPrompt prompt = fold_prompt(*older, *newer, world_.config.prompt_profile);
    return ask(work,
               {.model = world_.config.chat_model,
                .system = prompt.system,
                .user = prompt.user,
                .schema = prompt.schema,
                .schema_name = "merge_or_keep",
                .temperature = 0,
                .completion_tokens_max = world_.config.consolidation_max_completion_tokens,
                .extra_body = world_.config.consolidation_extra_body,
                .caller = world_.caller},
               &BatchDriver::fold_answered);
  }
  if (work->outcome.batch.facts.empty()) return end(work, BatchOutcome::End::kApplied);
  read(work);
}

// Without a usable answer the two stay apart.
void BatchDriver::fold_answered(const WorkPtr& work, ChatOutcome outcome) {
  const Twins twins = work->twins.back();
  work->twins.pop_back();
  if (const auto* failure = std::get_if<llm::Failure>(&outcome)) {
    BatchFault fault = fault_of(*failure);
    if (fault.failure == BatchFailure::kStop) return fail(work, std::move(fault));
    return fold_twins(work);
  }
  const auto& reply = std::get<ChatReply>(outcome);
  const std::string text = reply.truncated ? "" : fold_text(reply.text);
  if (text.empty()) return fold_twins(work);
  const std::vector<MemoryId> ids = {twins.older, twins.newer};
  const Result<std::vector<Memory>> both = world_.store.memories(ids);
  if (!both) return fail_of_store(work, both.error());
  const Memory* older = find_in(*both, twins.older);
  const Memory* newer = find_in(*both, twins.newer);
  if (older == nullptr || newer == nullptr) return fold_twins(work);
  const BatchEffects effects{
      .scope = work->outcome.batch.scope,
      .deletes = {newer->id},
      .updates = {{.id = older->id, .text = text, .new_sources = newer->sources}},
      .creates = {},
      .facts = {},
      .witnesses = {{older->id, older->version}, {newer->id, newer->version}},
      .observations_max = -1,
      .history_max = history_max_of(world_.config)};
  const Result<void> applied = world_.store.apply(effects, now_ms());
  if (!applied && applied.error().kind != ErrorKind::kConflict)
    return fail_of_store(work, applied.error());
  if (applied) {
    ++work->outcome.counts.observations_merged;
    world_.embeddings.add(effects.scope, std::vector<MemoryId>{older->id});
  }
  fold_twins(work);
}

// A worker that was taken for dead may have done a part of the batch meanwhile.
Result<void> BatchDriver::keep_pending(const Scope& scope, std::vector<Memory>& facts) {
  const Result<std::vector<PendingFact>> pending = world_.store.pending_facts();
  if (!pending) return pending.error();
  std::set<MemoryId> left;
  for (const PendingFact& fact : *pending) {
    if (std::ranges::find(fact.scopes_left, scope) != fact.scopes_left.end()) left.insert(fact.id);
  }
  std::erase_if(facts, [&](const Memory& fact) { return !left.contains(fact.id); });
  return {};
}

Result<BatchRead> BatchDriver::read_bank(const ScopeBatch& batch) {
  BatchRead read;
  Result<std::vector<Memory>> facts = world_.store.memories(batch.facts);
  if (!facts) return facts.error();
  read.facts = *std::move(facts);
  // Facts that were removed, or edited so that they feed other scopes, are the next run's.
  std::erase_if(read.facts, [&](const Memory& fact) {
    if (fact.invalidated || fact.consolidated) return true;
    const std::vector<Scope> scopes = resolve_scopes(fact.tags, fact.scopes);
    return std::ranges::find(scopes, batch.scope) == scopes.end();
  });
  if (batch.attempts > 0 && !read.facts.empty()) {
    const Result<void> kept = keep_pending(batch.scope, read.facts);
    if (!kept) return kept.error();
  }
  if (read.facts.empty()) return read;
  Result<std::vector<Memory>> observations = world_.store.observations_of(batch.scope);
  if (!observations) return observations.error();
  read.observations = *std::move(observations);
  std::vector<std::string> texts;
  texts.reserve(read.facts.size());
  for (const Memory& fact : read.facts)
    texts.push_back(fact.text);
  Result<std::vector<BankStore::Repeated>> repeated = world_.store.repeated(batch.scope, texts);
  if (!repeated) return repeated.error();
  read.repeated = *std::move(repeated);
  std::vector<MemoryId> repeated_ids;
  repeated_ids.reserve(read.repeated.size());
  for (const BankStore::Repeated& one : read.repeated)
    repeated_ids.push_back(one.fact);
  Result<std::vector<Memory>> repeated_facts = world_.store.memories(repeated_ids);
  if (!repeated_facts) return repeated_facts.error();
  read.repeated_facts = *std::move(repeated_facts);
  return read;
}

void BatchDriver::read(const WorkPtr& work) {
  const TimePoint start = world_.clock.now();
  Result<BatchRead> read = read_bank(work->outcome.batch);
  if (!read) return fail_of_store(work, read.error());
  if (read->facts.empty()) return end(work, BatchOutcome::End::kApplied);
  for (const Memory& fact : read->facts)
    work->outcome.facts.push_back({.id = fact.id, .version = fact.version});
  const bool shows_sources = world_.config.prompt_profile == PromptProfile::kHindsight;
  const std::vector<Memory> observations =
      shows_sources ? read->observations : std::vector<Memory>();
  work->flow.emplace(
      work->outcome.batch.scope, *std::move(read), world_.config,
      [this](std::string_view text) { return world_.models.count_tokens(text); }, world_.new_id);
  work->outcome.observations_shown = work->flow->observations_shown();
  if (!work->flow->needs_model()) {
    work->outcome.times.recall += world_.clock.now() - start;
    return apply(work, work->flow->decide_without_model());
  }
  std::map<MemoryId, std::vector<Memory>> sources;
  if (shows_sources) {
    const Result<std::vector<Memory>> all = world_.store.memories(work->flow->sources_shown());
    if (!all) return fail_of_store(work, all.error());
    sources = within_tokens(observations, *all, world_.config, world_.models);
  }
  ChatCall call = work->flow->question(world_.caller, std::move(sources));
  work->outcome.times.recall += world_.clock.now() - start;
  ask(work, std::move(call), &BatchDriver::answered);
}

void BatchDriver::ask(const WorkPtr& work, ChatCall call, Step then) {
  work->asked = world_.clock.now();
  ++work->outcome.counts.llm_calls;
  world_.on_calls(1);
  world_.models.chat(std::move(call), world_.unwanted, [this, work, then](ChatOutcome outcome) {
    world_.on_calls(-1);
    work->outcome.times.model += world_.clock.now() - work->asked;
    world_.executor.post([this, work, then, outcome = std::move(outcome)]() mutable {
      if (const auto* reply = std::get_if<ChatReply>(&outcome)) {
        work->outcome.is_answered = true;
        work->outcome.counts.input_tokens += reply->usage.prompt_tokens;
        work->outcome.counts.cached_tokens += reply->usage.cached_tokens;
        work->outcome.counts.output_tokens += reply->usage.completion_tokens;
      }
      (this->*then)(work, std::move(outcome));
    });
  });
}

void BatchDriver::answered(const WorkPtr& work, ChatOutcome outcome) {
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

void BatchDriver::apply(const WorkPtr& work, BatchDecision decision) {
  const TimePoint start = world_.clock.now();
  const Result<void> applied = world_.store.apply(decision.effects, now_ms());
  work->outcome.times.commit += world_.clock.now() - start;
  if (!applied) {
    const ErrorKind kind = applied.error().kind;
    const bool is_stale = kind == ErrorKind::kConflict || kind == ErrorKind::kUnavailable;
    if (!is_stale) return fail_of_store(work, applied.error());
    ++work->outcome.counts.stale;
    work->outcome.fault.why = applied.error().message;
    return end(work, BatchOutcome::End::kStale);
  }
  // The batch counts its facts when it ends, also those that were not there any more.
  decision.counts.batches = 0;
  decision.counts.facts_processed = 0;
  work->outcome.counts += decision.counts;
  work->outcome.rejected = std::move(decision.rejected);
  std::vector<MemoryId> written;
  written.reserve(decision.effects.creates.size() + decision.effects.updates.size());
  for (const CreateObservation& create : decision.effects.creates)
    written.push_back(create.id);
  for (const UpdateObservation& update : decision.effects.updates)
    written.push_back(update.id);
  world_.embeddings.add(decision.effects.scope, written);
  end(work, BatchOutcome::End::kApplied);
}

void BatchDriver::fail(const WorkPtr& work, BatchFault fault) {
  work->outcome.fault = std::move(fault);
  end(work, BatchOutcome::End::kFailed);
}

void BatchDriver::fail_of_store(const WorkPtr& work, const Error& error) {
  fail(work, {.failure = BatchFailure::kStop, .why = error.message, .is_of_store = true});
}

void BatchDriver::end(const WorkPtr& work, BatchOutcome::End end) {
  work->outcome.end = end;
  if (end == BatchOutcome::End::kApplied && !work->outcome.batch.facts.empty()) {
    ++work->outcome.counts.batches;
    work->outcome.counts.facts_processed += std::ssize(work->outcome.batch.facts);
  }
  const Done done = std::exchange(work->done, nullptr);
  done(std::move(work->outcome));
  tasks_.leave();
}

}  // namespace windrow::memory
