#include "memory/retain/retain.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "memory/bank/embedding_model.h"
#include "memory/models/blocking_calls.h"
#include "memory/retain/extraction.h"
#include "memory/retain/retain_embeddings.h"
#include "memory/retain/retain_plan.h"
#include "memory/retain/retain_rules.h"
#include "memory/service/reply.h"

namespace windrow::memory {
namespace {

constexpr int32_t kExtractionsInFlight = 8;

// A second answer at temperature 0 would be the first again.
constexpr double kSecondTemperature = 0.3;

std::vector<std::string> joined(std::vector<std::string> names,
                                const std::vector<std::string>& more) {
  for (const std::string& name : more)
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  return names;
}

// One retain: its methods are its steps, in order. The first failure ends it, before anything is
// stored.
class Retainer {
 public:
  Retainer(BankStore& store, MemoryModels& models, const BankConfig& config,
           const std::vector<RetainItem>& items, const ModelCaller& caller, UnixMs now)
      : store_(store),
        models_(models),
        config_(config),
        items_(items),
        caller_(caller),
        now_(now) {}

  RetainOutcome run() {
    using Step = std::optional<llm::Failure> (Retainer::*)();
    for (const Step step : {&Retainer::choose_mode, &Retainer::plan, &Retainer::extract,
                            &Retainer::embed, &Retainer::store}) {
      std::optional<llm::Failure> failure = (this->*step)();
      if (failure) return *std::move(failure);
    }
    return std::move(report_);
  }

 private:
  std::optional<llm::Failure> choose_mode() {
    const std::optional<llm::Failure> fault = models_.chat_fault(config_.chat_model);
    retained_.consolidate =
        !fault && config_.enable_observations && config_.enable_auto_consolidation;
    std::variant<bool, llm::Failure> chosen = extracts(config_, fault);
    if (auto* const failure = std::get_if<llm::Failure>(&chosen)) return std::move(*failure);
    extracts_ = std::get<bool>(chosen);
    return std::nullopt;
  }

  std::optional<llm::Failure> plan() {
    int32_t characters_max = config_.retain_chunk_size;
    const int32_t of_model = extracts_ ? extraction_characters_max(config_.prompt_profile) : 0;
    if (of_model > 0) characters_max = std::min(characters_max, of_model);
    Result<RetainPlan> plan = plan_of(
        store_, items_, {.characters_max = characters_max, .keeps_texts = extracts_, .now = now_});
    if (!plan) return failure_of(plan.error(), "document");
    pieces_ = std::move(plan->pieces);
    facts_.resize(pieces_.size());
    retained_.documents = std::move(plan->documents);
    retained_.chunks = std::move(plan->chunks);
    retained_.chunks_gone = std::move(plan->chunks_gone);
    return std::nullopt;
  }

  // --- what they state ---

  std::optional<llm::Failure> extract() {
    if (!extracts_) {
      for (size_t i = 0; i < pieces_.size(); ++i)
        facts_[i].push_back({.text = pieces_[i].text});
      return std::nullopt;
    }
    std::vector<size_t> wanted(pieces_.size());
    for (size_t i = 0; i < wanted.size(); ++i)
      wanted[i] = i;
    std::string why;
    for (const double temperature : {0.0, kSecondTemperature}) {
      std::vector<ChatReply> replies(wanted.size());
      std::optional<llm::Failure> failure = ask(wanted, temperature, replies);
      if (failure) return failure;
      wanted = read(wanted, replies, why);
      if (wanted.empty()) return std::nullopt;
    }
    const size_t item = pieces_[wanted.front()].item;
    return llm::Failure{
        .failure_class = llm::FailureClass::kTransient,
        .status = 502,
        .code = "extraction_response",
        .message = fmt::format("the model's answer about the facts of items[{}].content could not "
                               "be used, twice: {}; send it again, set another chat_model, or set "
                               "retain_extraction_mode to \"verbatim\"",
                               item, why),
        .param = fmt::format("items[{}].content", item)};
  }

  // Asks for the facts of these pieces, side by side.
  std::optional<llm::Failure> ask(std::span<const size_t> wanted, double temperature,
                                  std::vector<ChatReply>& replies) {
    std::optional<llm::Failure> failure = do_in_parallel(
        wanted.size(), kExtractionsInFlight, [&](size_t part, std::stop_token unwanted, auto done) {
          models_.chat(call_of(pieces_[wanted[part]], temperature), std::move(unwanted),
                       [&reply = replies[part], done = std::move(done)](ChatOutcome outcome) {
                         if (auto* const fault = std::get_if<llm::Failure>(&outcome))
                           return done(std::move(*fault));
                         reply = std::get<ChatReply>(std::move(outcome));
                         done(std::nullopt);
                       });
        });
    if (failure) failure->message = fmt::format("extraction of facts: {}", failure->message);
    return failure;
  }

  ChatCall call_of(const Piece& piece, double temperature) const {
    const RetainItem& item = items_[piece.item];
    ExtractionPrompt prompt =
        extraction_prompt({.text = piece.text,
                           .context = item.context,
                           .written = mentioned(item),
                           .now = now_,
                           .mission = config_.retain_mission,
                           .verbose = config_.retain_extraction_mode == "verbose"},
                          config_.prompt_profile);
    return {.model = config_.chat_model,
            .system = std::move(prompt.system),
            .user = std::move(prompt.user),
            .schema = std::move(prompt.schema),
            .schema_name = "facts",
            .temperature = temperature,
            .caller = caller_};
  }

  // The pieces whose reply is of no use, and why the first is.
  std::vector<size_t> read(std::span<const size_t> wanted, const std::vector<ChatReply>& replies,
                           std::string& why) {
    std::vector<size_t> unread;
    for (size_t i = 0; i < wanted.size(); ++i) {
      add_usage(replies[i].usage);
      Result<std::vector<ExtractedFact>> facts =
          extracted_facts(replies[i].text, config_.prompt_profile);
      if (facts && !replies[i].truncated) {
        facts_[wanted[i]] = *std::move(facts);
        continue;
      }
      if (unread.empty()) {
        why = replies[i].truncated ? "it was cut off at the limit of tokens (a smaller "
                                     "retain_chunk_size makes answers shorter)"
                                   : facts.error().message;
      }
      unread.push_back(wanted[i]);
    }
    return unread;
  }

  void add_usage(const llm::Usage& usage) {
    report_.usage.prompt_tokens += usage.prompt_tokens;
    report_.usage.completion_tokens += usage.completion_tokens;
    report_.usage.cached_tokens += usage.cached_tokens;
    report_.usage.reasoning_tokens += usage.reasoning_tokens;
  }

  // --- what is stored ---

  std::optional<UnixMs> mentioned(const RetainItem& item) const {
    if (item.timestamp_unset) return std::nullopt;
    return item.timestamp.value_or(now_);
  }

  NewFact fact_of(const Piece& piece, ExtractedFact extracted) const {
    const RetainItem& item = items_[piece.item];
    NewFact fact{.type = item.type.value_or(extracted.type),
                 .text = std::move(extracted.text),
                 .context = item.context,
                 .tags = item.tags,
                 .scopes = item.scopes,
                 .metadata = item.metadata,
                 .entities = joined(item.entities, extracted.entities),
                 .document_id = piece.document_id,
                 .chunk_id = piece.chunk_id};
    fact.times.mentioned = mentioned(item);
    fact.times.occurred_start = extracted.occurred_start;
    fact.times.occurred_end = extracted.occurred_end;
    fact.times.event = extracted.occurred_start ? extracted.occurred_start : fact.times.mentioned;
    return fact;
  }

  std::optional<llm::Failure> embed() {
    for (size_t i = 0; i < pieces_.size(); ++i) {
      for (ExtractedFact& extracted : facts_[i])
        retained_.facts.push_back(fact_of(pieces_[i], std::move(extracted)));
    }
    if (retained_.facts.empty() || models_.embed_fault(config_.embed_model)) return std::nullopt;
    const Result<void> taken =
        take_embedding_model(store_, models_.embed_model_name(config_.embed_model));
    if (!taken) return failure_of(taken.error(), "bank");
    return embed_facts(retained_.facts, models_, config_.embed_model, caller_);
  }

  std::optional<llm::Failure> store() {
    if (retained_.facts.empty()) retained_.consolidate = false;
    Result<std::vector<MemoryId>> ids = store_.retain(retained_, now_);
    if (!ids) return failure_of(ids.error(), "bank");
    report_.memories = *std::move(ids);
    return std::nullopt;
  }

  BankStore& store_;
  MemoryModels& models_;
  const BankConfig& config_;
  const std::vector<RetainItem>& items_;
  const ModelCaller& caller_;
  const UnixMs now_;

  bool extracts_ = false;
  std::vector<Piece> pieces_;
  std::vector<std::vector<ExtractedFact>> facts_;  // of each piece
  Retained retained_;
  RetainReport report_;
};

}  // namespace

RetainOutcome retain(BankStore& store, MemoryModels& models, const BankConfig& config,
                     const std::vector<RetainItem>& items, const ModelCaller& caller,
                     const Clock& clock) {
  if (std::optional<llm::Failure> fault = fault_of(items)) return *std::move(fault);
  if (items.empty()) return RetainReport();
  return Retainer(store, models, config, items, caller, clock.unix_seconds() * 1000).run();
}

}  // namespace windrow::memory
