#include "fleet/model_estimate.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/ensure.h"
#include "engine/llama/memory_plan.h"
#include "engine/sim/sim_options.h"
#include "engine/sim/sim_vocabulary.h"
#include "fleet/chat_template_choice.h"

namespace windrow::fleet {
namespace {

constexpr uint64_t kMegabyte = 1'000'000;

// Checked when the header was read, or the model loaded.
engine::sim::SimOptions simulated(const ModelChoice& choice) {
  return engine::sim::parse_sim(choice.path).value();
}

bool is_reranker(const ModelChoice& choice, std::string_view own_pooling) {
  return choice.pooling ? *choice.pooling == engine::Pooling::kRank : own_pooling == "rank";
}

struct EndpointTraits {
  bool generates = false;
  bool chats = false;  // it has a chat template
  bool ranks = false;
};

llm::EndpointSet endpoints_of(const EndpointTraits& traits) {
  using llm::Endpoint;
  const Endpoint vectors = traits.ranks ? Endpoint::kRerank : Endpoint::kEmbeddings;
  if (!traits.generates) return {vectors};
  if (!traits.chats) return {Endpoint::kCompletions, vectors};
  return {Endpoint::kChatCompletions, Endpoint::kCompletions, vectors};
}

ModelEstimate simulated_estimate(const ModelHeader& header, const ModelChoice& choice,
                                 const EngineOptions& options, uint64_t context_memory_bytes) {
  const engine::sim::SimOptions model = simulated(choice);
  ModelEstimate estimate{.abilities = simulated_abilities(choice),
                         .vocabulary_size = engine::sim::SimVocabulary(model.vocabulary).size(),
                         .context_tokens = model.context,
                         .bytes = header.weights_bytes,
                         .context_memory_bytes = context_memory_bytes};
  if (options.context_tokens > 0)
    estimate.context_tokens = std::min(estimate.context_tokens, options.context_tokens);
  return estimate;
}

}  // namespace

engine::LlamaRunnerOptions runner_options(const EngineOptions& options, uint64_t memory_bytes) {
  return {.cells_max = options.context_tokens,
          .rows_max = options.rows_max,
          .step_tokens_max = options.batch_tokens,
          .threads = options.threads,
          .kv_type = options.kv_type,
          .flash_attention = options.flash_attention,
          .kv_cache = options.kv_cache,
          .share = options.share_prefixes,
          .memory_bytes = memory_bytes};
}

engine::LlamaEmbeddingOptions embedding_options(const EngineOptions& options,
                                                const ModelChoice& choice, uint64_t memory_bytes) {
  return {.pooling = choice.pooling,
          .threads = options.threads,
          .kv_type = options.kv_type,
          .flash_attention = options.flash_attention,
          .memory_bytes = memory_bytes};
}

uint64_t simulated_bytes(const ModelChoice& choice) {
  return static_cast<uint64_t>(simulated(choice).memory_mb) * kMegabyte;
}

// A file that names its pooling is made to embed or to rank; the text it would write means nothing.
ModelAbilities abilities_of(const engine::ModelFacts& facts, const ModelChoice& choice,
                            bool has_chat_template) {
  const bool generates = !facts.encoder_only && facts.pooling.empty();
  const bool ranks = is_reranker(choice, facts.pooling);
  return {.endpoints =
              endpoints_of({.generates = generates, .chats = has_chat_template, .ranks = ranks}),
          .ranks = ranks,
          .embeds_first = !generates || choice.pooling.has_value()};
}

ModelAbilities simulated_abilities(const ModelChoice& choice) {
  const bool ranks = is_reranker(choice, "");
  return {.endpoints = endpoints_of({.generates = true, .chats = true, .ranks = ranks}),
          .ranks = ranks};
}

Result<ModelHeader> read_model_header(engine::LlamaLibrary* library, const ModelChoice& choice) {
  if (is_simulated(choice)) {
    const Result<engine::sim::SimOptions> model = engine::sim::parse_sim(choice.path);
    if (!model) return model.error();
    return ModelHeader{.facts = std::nullopt, .weights_bytes = simulated_bytes(choice)};
  }
  ENSURE(library != nullptr, "{} needs libllama", choice.path);
  Result<engine::ModelFacts> facts = engine::LlamaModel::read_header(*library, choice.path);
  if (!facts) return facts.error();
  const uint64_t bytes = facts->weights_bytes + adapter_bytes(choice);
  return ModelHeader{.facts = *std::move(facts), .weights_bytes = bytes};
}

Result<void> check_loadable(engine::LlamaLibrary* library, const ModelChoice& choice) {
  if (is_simulated(choice)) return {};
  ENSURE(library != nullptr, "{} needs libllama", choice.path);
  return engine::LlamaModel::rehearse(*library, choice.path);
}

ModelEstimate model_estimate(const ModelHeader& header, const ModelChoice& choice,
                             const EngineOptions& options, uint64_t context_memory_bytes) {
  if (!header.facts) return simulated_estimate(header, choice, options, context_memory_bytes);
  const engine::ModelFacts& facts = *header.facts;
  // A chat template that was chosen exists, or the model cannot be loaded.
  const bool chats = !choice.chat_template.empty() || own_chat_template(facts).has_value();
  ModelEstimate estimate{.abilities = abilities_of(facts, choice, chats),
                         .vocabulary_size = facts.vocabulary_size,
                         .bytes = header.weights_bytes,
                         .context_memory_bytes = context_memory_bytes};
  if (estimate.abilities.embeds_first || estimate.abilities.ranks) {
    const engine::LlamaEmbeddingOptions embedding =
        embedding_options(options, choice, context_memory_bytes);
    const engine::Pooling pooling = choice.pooling.value_or(
        engine::parse_pooling(facts.pooling).value_or(engine::Pooling::kMean));
    const engine::EmbeddingSizes sizes =
        engine::embedding_sizes(facts, pooling, embedding, context_memory_bytes);
    estimate.context_tokens = sizes.input_tokens;
    estimate.bytes +=
        engine::embedding_context_bytes(facts, embedding, sizes.batch_tokens, sizes.input_tokens);
  }
  if (!estimate.abilities.embeds_first) {
    const engine::LlamaRunnerOptions runner = runner_options(options, context_memory_bytes);
    const int32_t cells =
        engine::whole_cells(engine::cells_of(facts, runner, context_memory_bytes));
    const int32_t of_row =
        runner.kv_cache == engine::KvCache::kSplit ? cells / runner.rows_max : cells;
    estimate.context_tokens = std::min(of_row, std::max(facts.context_trained, 1));
    estimate.bytes += engine::context_bytes(facts, runner, cells);
  }
  return estimate;
}

uint64_t context_memory(std::span<const uint64_t> least_bytes, size_t index,
                        uint64_t memory_bytes) {
  // The share that a context takes at most, with a margin for what is only estimated.
  constexpr double kTaken = 0.5;
  if (memory_bytes == 0) return 0;
  const uint64_t least = std::accumulate(least_bytes.begin(), least_bytes.end(), uint64_t{0});
  const auto models = static_cast<double>(least_bytes.size());
  if (least <= memory_bytes - memory_bytes / 4) {
    const auto left = static_cast<double>(memory_bytes - least);
    return static_cast<uint64_t>(left / std::max(1.0, models * kTaken));
  }
  const uint64_t own = least_bytes[index];
  return own < memory_bytes ? std::max<uint64_t>((memory_bytes - own) / 2, 1) : 1;
}

}  // namespace windrow::fleet
