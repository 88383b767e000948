#include "memory/retain/retain.h"

#include <algorithm>
#include <utility>

#include "memory/bank/embedding_model.h"
#include "memory/retain/piece_extraction.h"
#include "memory/retain/retain_embeddings.h"
#include "memory/retain/retain_plan.h"
#include "memory/retain/retain_rules.h"
#include "memory/service/reply.h"

namespace windrow::memory {
namespace {

// A document that another request changes meanwhile is planned anew so often; what was extracted is
// used again.
constexpr int32_t kAttemptsToStore = 3;

std::vector<std::string> each_once(std::vector<std::string> names,
                                   const std::vector<std::string>& more) {
  for (const std::string& name : more)
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  return names;
}

NewFact fact_of(const Piece& piece, const RetainItem& item, const ExtractedFact& extracted,
                UnixMs now) {
  NewFact fact{.type = item.type.value_or(extracted.type),
               .text = extracted.text,
               .context = item.context,
               .tags = item.tags,
               .scopes = item.scopes,
               .metadata = item.metadata,
               .entities = each_once(item.entities, extracted.entities),
               .document_id = piece.document_id,
               .chunk_id = piece.chunk_id};
  fact.times.mentioned = mentioned_at(item, now);
  fact.times.occurred_start = extracted.occurred_start;
  fact.times.occurred_end = extracted.occurred_end;
  fact.times.event = extracted.occurred_start ? extracted.occurred_start : fact.times.mentioned;
  return fact;
}

// One retain. Nothing is stored before its last step, which stores all.
class Retainer {
 public:
  Retainer(BankStore& store, MemoryModels& models, const BankConfig& config,
           const std::vector<RetainItem>& items, const ModelCaller& caller,
           const std::optional<RetainWork>& work, UnixMs now)
      : store_(store),
        models_(models),
        config_(config),
        items_(items),
        caller_(caller),
        work_(work),
        now_(now),
        extraction_(models, config, items, caller, now) {}

  RetainOutcome run() {
    const std::optional<llm::Failure> chat_fault = models_.chat_fault(config_.chat_model);
    std::variant<bool, llm::Failure> chosen = extracts(config_, chat_fault);
    if (auto* const failure = std::get_if<llm::Failure>(&chosen)) return std::move(*failure);
    extracts_ = std::get<bool>(chosen);
    consolidates_ = !chat_fault && config_.enable_observations && config_.enable_auto_consolidation;

    for (int32_t attempt = 1;; ++attempt) {
      Retained retained;
      std::optional<llm::Failure> failure = plan(retained);
      if (!failure) failure = add_facts(retained);
      if (!failure) failure = embed(retained.facts);
      if (failure) return *std::move(failure);
      complete_work(retained);
      Result<std::vector<MemoryId>> ids = store_.retain(retained, now_);
      if (ids) return RetainReport{.memories = *std::move(ids), .usage = extraction_.usage()};
      const bool may_pass = ids.error().kind == ErrorKind::kConflict && !retained.documents.empty();
      if (!may_pass || attempt == kAttemptsToStore) return failure_of(ids.error(), "bank");
    }
  }

 private:
  std::optional<llm::Failure> plan(Retained& retained) {
    int32_t characters_max = config_.retain_chunk_size;
    const int32_t of_model = extracts_ ? extraction_characters_max(config_.prompt_profile) : 0;
    if (of_model > 0) characters_max = std::min(characters_max, of_model);
    Result<RetainPlan> plan = plan_of(
        store_, items_, {.characters_max = characters_max, .keeps_texts = extracts_, .now = now_});
    if (!plan) return failure_of(plan.error(), "document");
    pieces_ = std::move(plan->pieces);
    retained.documents = std::move(plan->documents);
    retained.texts_before = std::move(plan->texts_before);
    retained.chunks = std::move(plan->chunks);
    retained.chunks_gone = std::move(plan->chunks_gone);
    return std::nullopt;
  }

  std::optional<llm::Failure> add_facts(Retained& retained) {
    std::vector<std::vector<ExtractedFact>> facts;
    if (extracts_) {
      std::optional<llm::Failure> failure = extraction_.extract(pieces_, unwanted(), facts);
      if (failure) return failure;
    } else {
      for (const Piece& piece : pieces_)
        facts.push_back({ExtractedFact{.text = piece.text}});
    }
    for (size_t i = 0; i < pieces_.size(); ++i) {
      for (const ExtractedFact& extracted : facts[i])
        retained.facts.push_back(fact_of(pieces_[i], items_[pieces_[i].item], extracted, now_));
    }
    retained.consolidate = consolidates_ && !retained.facts.empty();
    return std::nullopt;
  }

  std::optional<llm::Failure> embed(std::vector<NewFact>& facts) {
    if (facts.empty() || models_.embed_fault(config_.embed_model)) return std::nullopt;
    const Result<void> taken =
        take_embedding_model(store_, models_.embed_model_name(config_.embed_model));
    if (!taken) return failure_of(taken.error(), "bank");
    return embed_facts(facts, models_, config_.embed_model, caller_, unwanted());
  }

  std::stop_token unwanted() const { return work_ ? work_->unwanted : std::stop_token(); }

  void complete_work(Retained& retained) const {
    if (!work_) return;
    retained.work = {
        .operation = work_->operation,
        .worker = work_->worker,
        .result = {{"items_count", items_.size()}, {"memories", retained.facts.size()}}};
  }

  BankStore& store_;
  MemoryModels& models_;
  const BankConfig& config_;
  const std::vector<RetainItem>& items_;
  const ModelCaller& caller_;
  const std::optional<RetainWork>& work_;
  const UnixMs now_;

  PieceExtraction extraction_;
  bool extracts_ = false;
  bool consolidates_ = false;
  std::vector<Piece> pieces_;
};

}  // namespace

RetainOutcome retain(BankStore& store, MemoryModels& models, const BankConfig& config,
                     const std::vector<RetainItem>& items, const ModelCaller& caller,
                     const Clock& clock, const std::optional<RetainWork>& work) {
  if (std::optional<llm::Failure> fault = fault_of(items)) return *std::move(fault);
  if (items.empty() && !work) return RetainReport();
  return Retainer(store, models, config, items, caller, work, clock.unix_seconds() * 1000).run();
}

}  // namespace windrow::memory
