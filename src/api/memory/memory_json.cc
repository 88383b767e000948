#include "api/memory/memory_json.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "api/memory/object_reader.h"
#include "base/crypto.h"
#include "json/values.h"
#include "memory/bank/iso_time.h"

namespace windrow::api {

namespace json = boost::json;

using memory::Memory;
using memory::MemoryType;

namespace {

void add_if(json::object& object, std::string_view name, std::optional<memory::UnixMs> time) {
  if (time) object[name] = memory::to_iso(*time);
}

void add_if(json::object& object, std::string_view name, const std::string& text) {
  if (!text.empty()) object[name] = text;
}

json::object metadata_json(const std::map<std::string, std::string>& metadata) {
  json::object object;
  for (const auto& [name, value] : metadata)
    object[name] = value;
  return object;
}

json::array names_json(const std::vector<std::string>& names) {
  return json::array(names.begin(), names.end());
}

json::array ids_json(const std::vector<memory::MemoryId>& ids) {
  json::array array;
  for (const memory::MemoryId& id : ids)
    array.emplace_back(id.text);
  return array;
}

json::value scopes_json(const memory::ObservationScopes& scopes) {
  switch (scopes.kind) {
    case memory::ScopeKind::kCombined:
      return nullptr;
    case memory::ScopeKind::kPerTag:
      return "per_tag";
    case memory::ScopeKind::kAllCombinations:
      return "all_combinations";
    case memory::ScopeKind::kShared:
      return "shared";
    case memory::ScopeKind::kExplicit:
      break;
  }
  json::array listed;
  for (const memory::Scope& scope : scopes.listed)
    listed.emplace_back(tags_json(scope));
  return listed;
}

json::object disposition_json(const memory::Disposition& disposition) {
  return {{"skepticism", disposition.skepticism},
          {"literalism", disposition.literalism},
          {"empathy", disposition.empathy}};
}

std::string mission_of(const memory::Bank& bank) {
  return bank.mission.empty() ? bank.background : bank.mission;
}

std::string name_of(const memory::Bank& bank) {
  return bank.name.empty() ? bank.id.text : bank.name;
}

json::object recalled_json(const Memory& memory, const memory::RecallScores* scores,
                           bool with_entities) {
  json::object object{
      {"id", memory.id.text}, {"text", memory.text}, {"type", memory::to_string(memory.type)}};
  if (with_entities) object["entities"] = names_json(memory.entities);
  add_if(object, "context", memory.context);
  add_if(object, "occurred_start", memory.times.occurred_start);
  add_if(object, "occurred_end", memory.times.occurred_end);
  add_if(object, "mentioned_at", memory.times.mentioned);
  add_if(object, "document_id", memory.document_id);
  if (!memory.metadata.empty()) object["metadata"] = metadata_json(memory.metadata);
  add_if(object, "chunk_id", memory.chunk_id);
  object["tags"] = tags_json(memory.tags);
  if (memory.type == MemoryType::kObservation) object["source_fact_ids"] = ids_json(memory.sources);
  if (scores == nullptr) return object;
  json::object parts{{"final", scores->final_score}};
  if (scores->semantic) parts["semantic"] = *scores->semantic;
  if (scores->keyword) parts["keyword"] = *scores->keyword;
  object["scores"] = std::move(parts);
  return object;
}

json::object entities_json(const memory::RecallResult& result) {
  json::object entities;
  for (const memory::Recalled& recalled : result.memories) {
    for (const std::string& name : recalled.memory.entities) {
      entities.emplace(name, json::object{{"entity_id", entity_id_of(name)},
                                          {"canonical_name", name},
                                          {"observations", json::array()}});
    }
  }
  return entities;
}

std::string content_hash(std::string_view text) {
  Sha256 hash;
  hash.add(text);
  return hash.finish();
}

// How many things an operation is about.
int64_t items_count(const memory::Operation& operation) {
  const json::value* items = operation.payload.if_contains("items");
  return items != nullptr && items->is_array() ? static_cast<int64_t>(items->get_array().size())
                                               : 0;
}

void add_progress(const memory::Operation& operation, json::object& object) {
  const json::object* given = object_in(operation.result, "progress");
  if (given == nullptr || operation.status != memory::OperationStatus::kProcessing) return;
  const std::string_view stage = text_in(*given, "stage");
  json::object progress{{"stage", stage.empty() ? memory::to_string(operation.type) : stage},
                        {"at", memory::to_iso(operation.updated)}};
  json::object detail;
  for (const auto& [name, value] : *given) {
    if (!value.is_int64()) continue;
    if (name == "processed" || name == "total") {
      progress[name] = value;
    } else {
      detail[name] = value;
    }
  }
  if (!detail.empty()) progress["detail"] = std::move(detail);
  object["progress"] = std::move(progress);
}

// Of one change: the facts it added, and all that there were then.
json::array source_facts(const std::vector<memory::MemoryId>& ids,
                         const std::set<memory::MemoryId>& added,
                         const std::map<memory::MemoryId, const Memory*>& known) {
  json::array facts;
  for (const memory::MemoryId& id : ids) {
    const auto found = known.find(id);
    const Memory* fact = found == known.end() ? nullptr : found->second;
    facts.push_back(
        {{"id", id.text},
         {"text", fact == nullptr ? json::value(nullptr) : json::value(fact->text)},
         {"type",
          fact == nullptr ? json::value(nullptr) : json::value(memory::to_string(fact->type))},
         {"context", fact == nullptr ? json::value(nullptr) : text_or_null(fact->context)},
         {"is_new", added.contains(id)}});
  }
  return facts;
}

}  // namespace

json::value time_json(std::optional<memory::UnixMs> time) {
  return time ? json::value(memory::to_iso(*time)) : json::value(nullptr);
}

json::array tags_json(const memory::Tags& tags) {
  return names_json(tags.list());
}

std::string entity_id_of(std::string_view name) {
  std::string digits = content_hash("entity:" + lower_case(name)).substr(0, 32);
  digits[12] = '8';  // version 8 of RFC 9562: of its maker's own kind
  digits[16] = "89ab"[digits[16] % 4];
  return fmt::format("{}-{}-{}-{}-{}", digits.substr(0, 8), digits.substr(8, 4),
                     digits.substr(12, 4), digits.substr(16, 4), digits.substr(20));
}

json::object memory_item(const Memory& memory) {
  const bool is_valid = !memory.invalidated.has_value();
  return {{"id", memory.id.text},
          {"text", memory.text},
          {"context", memory.context},
          {"date", memory.times.event ? memory::to_iso(*memory.times.event) : std::string()},
          {"fact_type", memory::to_string(memory.type)},
          {"document_id", text_or_null(memory.document_id)},
          {"mentioned_at", time_json(memory.times.mentioned)},
          {"occurred_start", time_json(memory.times.occurred_start)},
          {"occurred_end", time_json(memory.times.occurred_end)},
          {"entities", fmt::format("{}", fmt::join(memory.entities, ", "))},
          {"chunk_id", text_or_null(memory.chunk_id)},
          {"proof_count", memory.proof_count},
          {"tags", tags_json(memory.tags)},
          {"metadata", metadata_json(memory.metadata)},
          {"consolidated_at", time_json(memory.consolidated)},
          {"consolidation_failed_at", time_json(memory.consolidation_failed)},
          {"state", is_valid ? "valid" : "invalidated"},
          {"invalidation_reason", text_or_null(memory.invalidation_reason)},
          {"invalidated_at", time_json(memory.invalidated)},
          {"edited_at", time_json(memory.edited)},
          {"updated_at", time_json(memory.updated)},
          {"source_memory_ids", ids_json(memory.sources)}};
}

json::object memory_detail(const Memory& memory, std::span<const Memory> sources) {
  json::object object{
      {"id", memory.id.text},
      {"text", memory.text},
      {"context", memory.context},
      {"date", memory.times.event ? memory::to_iso(*memory.times.event) : std::string()},
      {"type", memory::to_string(memory.type)},
      {"mentioned_at", time_json(memory.times.mentioned)},
      {"occurred_start", time_json(memory.times.occurred_start)},
      {"occurred_end", time_json(memory.times.occurred_end)},
      {"entities", names_json(memory.entities)},
      {"document_id", text_or_null(memory.document_id)},
      {"chunk_id", text_or_null(memory.chunk_id)},
      {"tags", tags_json(memory.tags)},
      {"metadata", metadata_json(memory.metadata)},
      {"observation_scopes", scopes_json(memory.scopes)},
      {"consolidated_at", time_json(memory.consolidated)},
      {"consolidation_failed_at", time_json(memory.consolidation_failed)},
      {"consolidation_failure", text_or_null(memory.failure)},
      {"state", memory.invalidated ? "invalidated" : "valid"},
      {"invalidation_reason", text_or_null(memory.invalidation_reason)},
      {"invalidated_at", time_json(memory.invalidated)},
      {"edited_at", time_json(memory.edited)}};
  if (memory.type != MemoryType::kObservation) return object;
  std::vector<const Memory*> newest_first;
  for (const Memory& source : sources)
    newest_first.push_back(&source);
  std::ranges::sort(newest_first, [](const Memory* one, const Memory* other) {
    return std::tie(other->times.mentioned, one->id) < std::tie(one->times.mentioned, other->id);
  });
  json::array facts;
  for (const Memory* source : newest_first) {
    facts.push_back({{"id", source->id.text},
                     {"text", source->text},
                     {"type", memory::to_string(source->type)},
                     {"context", source->context},
                     {"occurred_start", time_json(source->times.occurred_start)},
                     {"mentioned_at", time_json(source->times.mentioned)}});
  }
  object["proof_count"] = memory.proof_count;
  object["history"] = json::array();  // Hindsight's deprecated member; the history has its own path
  object["source_memory_ids"] = ids_json(memory.sources);
  object["source_memories"] = std::move(facts);
  return object;
}

json::array history_json(const Memory& memory,
                         std::span<const memory::ObservationChange> newest_first,
                         std::span<const Memory> sources) {
  std::map<memory::MemoryId, const Memory*> known;
  for (const Memory& source : sources)
    known.emplace(source.id, &source);
  std::set<memory::MemoryId> later;
  for (const memory::ObservationChange& change : newest_first)
    later.insert(change.new_sources.begin(), change.new_sources.end());
  std::vector<memory::MemoryId> had;
  for (const memory::MemoryId& id : memory.sources) {
    if (!later.contains(id)) had.push_back(id);
  }
  json::array changes;
  for (size_t i = newest_first.size(); i-- > 0;) {
    const memory::ObservationChange& change = newest_first[i];
    const std::set<memory::MemoryId> added(change.new_sources.begin(), change.new_sources.end());
    had.insert(had.end(), change.new_sources.begin(), change.new_sources.end());
    changes.push_back({{"previous_text", change.previous_text},
                       {"previous_tags", tags_json(change.previous_tags)},
                       {"previous_occurred_start", time_json(change.previous_times.occurred_start)},
                       {"previous_occurred_end", time_json(change.previous_times.occurred_end)},
                       {"previous_mentioned_at", time_json(change.previous_times.mentioned)},
                       {"changed_at", memory::to_iso(change.changed)},
                       {"new_source_memory_ids", ids_json(change.new_sources)},
                       {"source_facts", source_facts(had, added, known)}});
  }
  return changes;
}

json::object recall_json(const memory::RecallResult& result, bool with_entities) {
  json::array results;
  for (const memory::Recalled& recalled : result.memories)
    results.emplace_back(recalled_json(recalled.memory, &recalled.scores, with_entities));
  json::object object{{"results", std::move(results)}};
  if (with_entities) object["entities"] = entities_json(result);
  if (!result.trace.empty()) object["trace"] = result.trace;
  if (!result.chunks.empty()) {
    json::object chunks;
    for (const auto& [id, chunk] : result.chunks) {
      chunks[id] = json::object{
          {"id", id}, {"text", chunk.text}, {"chunk_index", chunk.index}, {"truncated", false}};
    }
    object["chunks"] = std::move(chunks);
  }
  if (!result.source_facts.empty() || result.source_facts_truncated) {
    json::object facts;
    for (const auto& [id, fact] : result.source_facts)
      facts[id] = recalled_json(fact, nullptr, with_entities);
    object["source_facts"] = std::move(facts);
    object["source_facts_truncated"] = result.source_facts_truncated;
  }
  return object;
}

json::object usage_json(const llm::Usage& usage) {
  return {{"input_tokens", usage.prompt_tokens},
          {"output_tokens", usage.completion_tokens - usage.reasoning_tokens},
          {"total_tokens", usage.prompt_tokens + usage.completion_tokens - usage.reasoning_tokens},
          {"cached_tokens", usage.cached_tokens},
          {"thoughts_tokens", usage.reasoning_tokens}};
}

json::object reflect_json(const memory::ReflectAnswer& answer, bool with_facts) {
  json::object object{{"text", answer.text}, {"usage", usage_json(answer.usage)}};
  if (answer.structured) object["structured_output"] = *answer.structured;
  if (!with_facts) return object;
  json::array facts;
  for (const Memory& memory : answer.based_on) {
    json::object fact{
        {"id", memory.id.text}, {"text", memory.text}, {"type", memory::to_string(memory.type)}};
    add_if(fact, "context", memory.context);
    add_if(fact, "occurred_start", memory.times.occurred_start);
    add_if(fact, "occurred_end", memory.times.occurred_end);
    facts.emplace_back(std::move(fact));
  }
  object["based_on"] = json::object{{"memories", std::move(facts)},
                                    {"mental_models", json::array()},
                                    {"directives", json::array()}};
  return object;
}

json::object bank_profile(const memory::Bank& bank) {
  return {{"bank_id", bank.id.text},
          {"name", name_of(bank)},
          {"disposition", disposition_json(bank.disposition)},
          {"mission", mission_of(bank)},
          {"background", mission_of(bank)}};
}

json::object bank_item(const memory::BankView& view) {
  json::object object{{"bank_id", view.bank.id.text},
                      {"name", name_of(view.bank)},
                      {"disposition", disposition_json(view.bank.disposition)},
                      {"mission", mission_of(view.bank)},
                      {"created_at", memory::to_iso(view.bank.created)},
                      {"updated_at", memory::to_iso(view.bank.updated)},
                      {"fact_count", view.memory_count}};
  return object;
}

json::object config_json(const memory::Bank& bank, const memory::BankConfig& config,
                         const json::object& overrides) {
  json::object all = memory::to_json(config);
  all["reflect_mission"] = mission_of(bank);
  all["disposition_skepticism"] = bank.disposition.skepticism;
  all["disposition_literalism"] = bank.disposition.literalism;
  all["disposition_empathy"] = bank.disposition.empathy;
  json::object own = overrides;
  if (const std::string mission = mission_of(bank); !mission.empty())
    own["reflect_mission"] = mission;
  return {{"bank_id", bank.id.text}, {"config", std::move(all)}, {"overrides", std::move(own)}};
}

json::object stats_json(const memory::BankId& bank, const memory::BankStats& stats) {
  const auto operations = [&](std::string_view status) {
    const auto found = stats.operations_by_status.find(status);
    return found == stats.operations_by_status.end() ? int64_t{0} : found->second;
  };
  json::object by_status;
  for (const auto& [status, count] : stats.operations_by_status)
    by_status[status] = count;
  json::object object{
      {"bank_id", bank.text},
      {"total_nodes", stats.facts_world + stats.facts_experience + stats.observations},
      {"total_links", 0},
      {"total_documents", stats.documents},
      {"nodes_by_fact_type",
       {{"world", stats.facts_world},
        {"experience", stats.facts_experience},
        {"observation", stats.observations}}},
      {"links_by_link_type", json::object()},
      {"links_by_fact_type", json::object()},
      {"links_breakdown", json::object()},
      {"pending_operations", operations("pending")},
      {"failed_operations", operations("failed")},
      {"operations_by_status", std::move(by_status)},
      {"pending_consolidation", stats.pending_consolidation},
      {"failed_consolidation", stats.failed_consolidation},
      {"total_observations", stats.observations}};
  add_if(object, "last_consolidated_at", stats.last_consolidated);
  return object;
}

json::object document_item(const memory::BankId& bank, const memory::Document& document) {
  return {{"id", document.id},
          {"bank_id", bank.text},
          {"content_hash", content_hash(document.text)},
          {"created_at", memory::to_iso(document.created)},
          {"updated_at", memory::to_iso(document.updated)},
          {"text_length", document.text.size()},
          {"memory_unit_count", document.memory_count},
          {"retain_params", nullptr},
          {"document_metadata", document.metadata.empty()
                                    ? json::value(nullptr)
                                    : json::value(metadata_json(document.metadata))},
          {"tags", tags_json(document.tags)}};
}

json::object document_detail(const memory::BankId& bank, const memory::Document& document,
                             const TypeCounts& counts) {
  json::object object = document_item(bank, document);
  object.erase("text_length");
  object["original_text"] = document.text;
  object["nodes_by_fact_type"] = json::object{{"world", counts.world},
                                              {"experience", counts.experience},
                                              {"observation", counts.observation}};
  return object;
}

json::object chunk_json(const memory::BankId& bank, const memory::Chunk& chunk,
                        memory::UnixMs created) {
  return {{"chunk_id", chunk.id},     {"document_id", chunk.document_id},
          {"bank_id", bank.text},     {"chunk_index", chunk.index},
          {"chunk_text", chunk.text}, {"created_at", memory::to_iso(created)}};
}

json::object operation_item(const memory::Operation& operation) {
  json::object object{{"id", operation.id.text},
                      {"task_type", memory::to_string(operation.type)},
                      {"items_count", items_count(operation)},
                      {"created_at", memory::to_iso(operation.created)},
                      {"updated_at", memory::to_iso(operation.updated)},
                      {"status", memory::to_string(operation.status)},
                      {"error_message", text_or_null(operation.error)},
                      {"retry_count", operation.retries},
                      {"next_retry_at", time_json(operation.next_retry)}};
  add_progress(operation, object);
  return object;
}

json::object operation_detail(const memory::Operation& operation, bool with_payload) {
  json::object object{{"operation_id", operation.id.text},
                      {"status", memory::to_string(operation.status)},
                      {"operation_type", memory::to_string(operation.type)},
                      {"created_at", memory::to_iso(operation.created)},
                      {"updated_at", memory::to_iso(operation.updated)},
                      {"retry_count", operation.retries}};
  add_if(object, "completed_at", operation.completed);
  add_if(object, "error_message", operation.error);
  add_if(object, "next_retry_at", operation.next_retry);
  add_progress(operation, object);
  json::object result = operation.result;
  result.erase("progress");
  if (!result.empty()) object["result_metadata"] = std::move(result);
  if (with_payload) object["task_payload"] = operation.payload;
  return object;
}

json::object page_json(json::array items, int64_t total, int64_t limit, int64_t offset) {
  return {{"items", std::move(items)}, {"total", total}, {"limit", limit}, {"offset", offset}};
}

}  // namespace windrow::api
