#include "memory/recall/recall.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>
#include <unordered_map>
#include <utility>

#include "base/utf8.h"
#include "memory/bank/embedding_model.h"
#include "memory/models/blocking_calls.h"
#include "memory/recall/fusion.h"
#include "memory/recall/recall_trace.h"
#include "memory/recall/selection.h"
#include "memory/service/reply.h"

namespace windrow::memory {
namespace {

// Memories that are read at a time: most recalls need no more.
constexpr size_t kPage = 64;

int32_t hits_max_of(RecallBudget budget) {
  switch (budget) {
    case RecallBudget::kLow:
      return 100;
    case RecallBudget::kMid:
      return 300;
    case RecallBudget::kHigh:
      return 1000;
  }
  return 300;
}

bool has_word(std::string_view text) {
  const auto begins_word = [](char letter) {
    const auto byte = static_cast<unsigned char>(letter);
    return (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= 'a' && byte <= 'z') || byte >= 0x80;
  };
  return std::ranges::any_of(text, begins_word);
}

std::optional<llm::Failure> fault_of_query(const RecallQuery& query, MemoryModels& models) {
  if (!has_word(query.text)) {
    llm::Failure failure =
        invalid("query has no word; ask with at least one letter or digit", "query");
    failure.status = 422;
    return failure;
  }
  const int64_t tokens = models.count_tokens(query.text);
  if (tokens > kQueryTokensMax) {
    return invalid(
        fmt::format("Query too long: {} tokens exceeds maximum of {}. Shorten the query; "
                    "texts to remember go to retain",
                    tokens, kQueryTokensMax),
        "query");
  }
  return std::nullopt;
}

double score_min(const RecallQuery& query, const std::string& name, double otherwise) {
  const auto found = query.scores_min.find(name);
  return found == query.scores_min.end() ? otherwise : found->second;
}

std::vector<Hit> at_least(std::vector<Hit> hits, double score) {
  std::erase_if(hits, [score](const Hit& hit) { return hit.score < score; });
  return hits;
}

// One recall: its methods are its steps, in order. The first failure ends it.
class Recaller {
 public:
  Recaller(BankStore& store, MemoryModels& models, const BankConfig& config,
           const RecallQuery& query, const ModelCaller& caller)
      : store_(store), models_(models), config_(config), query_(query), caller_(caller) {}

  RecallOutcome run() {
    using Step = std::optional<llm::Failure> (Recaller::*)();
    for (const Step step : {&Recaller::search_vectors, &Recaller::search_words, &Recaller::select,
                            &Recaller::add_chunks, &Recaller::add_source_facts}) {
      std::optional<llm::Failure> failure = (this->*step)();
      if (failure) return *std::move(failure);
    }
    if (query_.trace) result_.trace = trace_of(query_, arms_, ranking_, result_, notes_);
    return std::move(result_);
  }

 private:
  std::optional<llm::Failure> search_vectors() {
    if (const auto fault = models_.embed_fault(config_.embed_model)) {
      notes_.push_back("only words were searched: " + fault->message);
      return std::nullopt;
    }
    const Result<Bank> bank = store_.bank();
    if (!bank) return failure_of(bank.error(), "bank");
    if (bank->embedding_size == 0) {
      notes_.emplace_back("only words were searched: the bank has no vectors");
      return std::nullopt;
    }
    const Result<void> fits =
        check_embedding_model(*bank, models_.embed_model_name(config_.embed_model));
    if (!fits) return failure_of(fits.error(), "bank");

    EmbedOutcome outcome = embed_and_wait(models_, config_.embed_model, {query_.text}, caller_);
    if (auto* const failure = std::get_if<llm::Failure>(&outcome)) return std::move(*failure);
    Result<std::vector<Hit>> hits =
        store_.nearest(std::get<std::vector<std::vector<float>>>(outcome).front(), filter(),
                       hits_max_of(query_.budget));
    if (!hits) return failure_of(hits.error(), "bank");
    arms_.push_back(
        {.name = "semantic",
         .hits = at_least(*std::move(hits), score_min(query_, "semantic", kSemanticMin))});
    return std::nullopt;
  }

  std::optional<llm::Failure> search_words() {
    Result<std::vector<Hit>> hits =
        store_.matching(query_.text, filter(), hits_max_of(query_.budget));
    if (!hits) return failure_of(hits.error(), "bank");
    constexpr double kNone = -std::numeric_limits<double>::infinity();
    arms_.push_back({.name = "keyword",
                     .hits = at_least(*std::move(hits), score_min(query_, "keyword", kNone))});
    ranking_ = at_least(fused(arms_), score_min(query_, "final", 0.0));
    return std::nullopt;
  }

  std::optional<llm::Failure> select() {
    Selection selection(
        {.tokens_max = query_.tokens_max,
         .prefer_observations = query_.prefer_observations,
         .count_tokens = [this](std::string_view text) { return models_.count_tokens(text); }});
    std::map<MemoryId, Recalled> offered;
    bool fits = true;
    for (size_t begin = 0; begin < ranking_.size() && fits; begin += kPage) {
      const size_t end = std::min(begin + kPage, ranking_.size());
      std::optional<llm::Failure> failure = read_page(begin, end, offered);
      if (failure) return failure;
      for (size_t i = begin; i < end && fits; ++i) {
        const auto found = offered.find(ranking_[i].id);
        if (found == offered.end()) continue;  // it was removed since it was found
        chunk_ids_.push_back(found->second.memory.chunk_id);
        fits = selection.offer(found->second.memory);
      }
    }
    for (const MemoryId& id : selection.selected())
      result_.memories.push_back(std::move(offered.at(id)));
    return std::nullopt;
  }

  std::optional<llm::Failure> read_page(size_t begin, size_t end,
                                        std::map<MemoryId, Recalled>& offered) {
    std::vector<MemoryId> ids;
    for (size_t i = begin; i < end; ++i)
      ids.push_back(ranking_[i].id);
    Result<std::vector<Memory>> memories = store_.memories(ids);
    if (!memories) return failure_of(memories.error(), "memory");
    for (Memory& memory : *memories) {
      const MemoryId id = memory.id;
      offered.emplace(id, Recalled{.memory = std::move(memory)});
    }
    for (size_t i = begin; i < end; ++i) {
      const auto found = offered.find(ranking_[i].id);
      if (found != offered.end()) found->second.scores.final_score = ranking_[i].score;
    }
    add_arm_scores(offered);
    return std::nullopt;
  }

  void add_arm_scores(std::map<MemoryId, Recalled>& offered) {
    for (const Arm& arm : arms_) {
      for (const Hit& hit : arm.hits) {
        const auto found = offered.find(hit.id);
        if (found == offered.end()) continue;
        RecallScores& scores = found->second.scores;
        (arm.name == "semantic" ? scores.semantic : scores.keyword) = hit.score;
      }
    }
  }

  // Also chunks of ranked memories that the number of tokens left no room for.
  std::optional<llm::Failure> add_chunks() {
    if (!query_.chunk_tokens_max) return std::nullopt;
    int64_t tokens = 0;
    for (const std::string& id : chunk_ids_) {
      if (id.empty() || result_.chunks.contains(id)) continue;
      Result<Chunk> chunk = store_.chunk(id);
      if (!chunk && chunk.error().kind == ErrorKind::kNotFound) continue;  // removed meanwhile
      if (!chunk) return failure_of(chunk.error(), "chunk");
      tokens += models_.count_tokens(chunk->text);
      if (tokens > *query_.chunk_tokens_max) break;
      result_.chunks.emplace(id, *std::move(chunk));
    }
    return std::nullopt;
  }

  std::optional<llm::Failure> add_source_facts() {
    if (!query_.source_fact_tokens_max) return std::nullopt;
    int64_t tokens = 0;
    for (const Recalled& recalled : result_.memories) {
      Result<std::vector<Memory>> facts = store_.memories(recalled.memory.sources);
      if (!facts) return failure_of(facts.error(), "memory");
      for (Memory& fact : *facts) {
        if (result_.source_facts.contains(fact.id.text)) continue;
        // An observation of another scope may come from facts that the query may not see.
        if (!query_.tags.passes(fact.tags)) continue;
        tokens += models_.count_tokens(fact.text);
        if (tokens > *query_.source_fact_tokens_max) {
          result_.source_facts_truncated = true;
          return std::nullopt;
        }
        std::string id = fact.id.text;
        result_.source_facts.emplace(std::move(id), std::move(fact));
      }
    }
    return std::nullopt;
  }

  SearchFilter filter() const { return {.types = query_.types, .tags = query_.tags}; }

  BankStore& store_;
  MemoryModels& models_;
  const BankConfig& config_;
  const RecallQuery& query_;
  const ModelCaller& caller_;

  std::vector<Arm> arms_;
  std::vector<Hit> ranking_;
  std::vector<std::string> chunk_ids_;  // of the ranked memories; empty ones and repeated ones too
  std::vector<std::string> notes_;
  RecallResult result_;
};

}  // namespace

RecallOutcome recall(BankStore& store, MemoryModels& models, const BankConfig& config,
                     const RecallQuery& query, const ModelCaller& caller) {
  if (std::optional<llm::Failure> fault = fault_of_query(query, models)) return *std::move(fault);
  return Recaller(store, models, config, query, caller).run();
}

}  // namespace windrow::memory
