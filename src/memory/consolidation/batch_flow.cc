#include "memory/consolidation/batch_flow.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

namespace windrow::memory {
namespace {

// Observations that a prompt shows at most, where the profile has no bound of its own.
constexpr int32_t kShownMax = 100;

int32_t shown_max_of(PromptProfile profile) {
  const int32_t own = limits_of(profile).observations_max;
  return own > 0 ? own : kShownMax;
}

void append_new(std::vector<MemoryId>& ids, const std::vector<MemoryId>& more) {
  for (const MemoryId& id : more) {
    if (std::ranges::find(ids, id) == ids.end()) ids.push_back(id);
  }
}

}  // namespace

BatchFlow::BatchFlow(Scope scope, BatchRead read, const BankConfig& config,
                     const CountTokens& count_tokens, std::function<MemoryId()> new_id)
    : scope_(std::move(scope)),
      read_(std::move(read)),
      config_(config),
      new_id_(std::move(new_id)),
      observations_max_(observations_max_of(config, scope_)),
      folded_(fold(read_.facts, read_.repeated, read_.repeated_facts)) {
  shown_ = recall_in_scope(folded_.shown, read_.observations,
                           {.tokens_max = config.consolidation_max_tokens,
                            .shown_max = shown_max_of(config.prompt_profile)},
                           count_tokens);
}

std::vector<MemoryId> BatchFlow::sources_shown() const {
  std::vector<MemoryId> ids;
  for (const ShownObservation& shown : shown_)
    ids.insert(ids.end(), shown.observation.sources.begin(), shown.observation.sources.end());
  std::ranges::sort(ids);
  ids.erase(std::ranges::unique(ids).begin(), ids.end());
  return ids;
}

ChatCall BatchFlow::question(const ModelCaller& caller,
                             std::map<MemoryId, std::vector<Memory>> source_facts) {
  const int64_t room =
      observations_max_ < 0
          ? -1
          : std::max<int64_t>(observations_max_ - std::ssize(read_.observations), 0);
  prompt_ = batch_prompt(folded_.shown, shown_,
                         {.profile = config_.prompt_profile,
                          .mission = config_.observations_mission,
                          .creates_max = room,
                          .source_facts = std::move(source_facts)});
  return {.model = config_.chat_model,
          .system = prompt_.system,
          .user = prompt_.user,
          .schema = prompt_.schema,
          .schema_name = "observation_changes",
          .temperature = 0,
          .completion_tokens_max = config_.consolidation_max_completion_tokens,
          .extra_body = config_.consolidation_extra_body,
          .caller = caller};
}

Result<BatchDecision> BatchFlow::decide(std::string_view response) const {
  Result<ModelActions> actions = parse_actions(response);
  if (!actions) return actions.error();
  const int64_t room =
      observations_max_ < 0
          ? -1
          : std::max<int64_t>(observations_max_ - std::ssize(read_.observations), 0);
  Accepted accepted =
      accept(*actions,
             {.prompt = prompt_, .shown = shown_, .folded = folded_.folded, .creates_max = room});
  // Half of a replacement would lose what it replaces.
  if (!accepted.deletes.empty() && !accepted.rejected.empty()) {
    return Error{
        ErrorKind::kInvalid,
        fmt::format("the response deletes observations, and a part of it cannot be done: {}",
                    accepted.rejected.front().what)};
  }
  return decision_of(std::move(accepted));
}

BatchDecision BatchFlow::decide_without_model() const {
  return decision_of({});
}

// A repeated fact becomes a source of its observation, unless that is deleted by this batch.
void BatchFlow::add_repeated(Accepted& accepted) const {
  for (const auto& [observation, facts] : folded_.repeated) {
    if (std::ranges::find(accepted.deletes, observation) != accepted.deletes.end()) continue;
    auto update = std::ranges::find(accepted.updates, observation, &UpdateObservation::id);
    if (update == accepted.updates.end()) {
      const auto found = std::ranges::find(read_.observations, observation, &Memory::id);
      if (found == read_.observations.end()) continue;
      update = accepted.updates.insert(update,
                                       {.id = observation, .text = found->text, .new_sources = {}});
    }
    append_new(update->new_sources, facts);
    for (const MemoryId& fact : facts)
      accepted.joined.insert({.observation = observation, .fact = fact});
  }
}

std::vector<Witness> BatchFlow::witnesses_of(const Accepted& accepted) const {
  std::vector<Witness> witnesses;
  witnesses.reserve(read_.facts.size() + accepted.updates.size() + accepted.deletes.size());
  for (const Memory& fact : read_.facts)
    witnesses.push_back({.id = fact.id, .version = fact.version});
  std::set<MemoryId> touched(accepted.deletes.begin(), accepted.deletes.end());
  for (const UpdateObservation& update : accepted.updates)
    touched.insert(update.id);
  for (const Memory& observation : read_.observations) {
    if (touched.contains(observation.id))
      witnesses.push_back({.id = observation.id, .version = observation.version});
  }
  return witnesses;
}

BatchDecision BatchFlow::decision_of(Accepted accepted) const {
  BatchDecision decision;
  add_repeated(accepted);
  std::vector<MemoryId> ids;
  ids.reserve(read_.facts.size());
  for (const Memory& fact : read_.facts)
    ids.push_back(fact.id);
  decision.results = results_of(ids, accepted);
  decision.counts = counts_of(ids, accepted);
  BatchEffects& effects = decision.effects;
  effects.scope = scope_;
  effects.witnesses = witnesses_of(accepted);
  effects.deletes = std::move(accepted.deletes);
  effects.updates = std::move(accepted.updates);
  for (AcceptedCreate& create : accepted.creates) {
    effects.creates.push_back(
        {.id = new_id_(), .text = std::move(create.text), .sources = std::move(create.sources)});
  }
  for (const auto& [fact, result] : decision.results)
    effects.facts.push_back({.id = fact, .word = std::string(to_string(result))});
  effects.observations_max = observations_max_;
  effects.history_max =
      config_.enable_observation_history ? config_.observation_history_max_entries : 0;
  decision.rejected = std::move(accepted.rejected);
  return decision;
}

}  // namespace windrow::memory
