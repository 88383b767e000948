#include "fleet/load_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "base/ensure.h"
#include "base/format.h"
#include "engine/llama/memory_plan.h"
#include "engine/sim/sim_options.h"
#include "engine/sim/sim_runner.h"
#include "fleet/chat_template_choice.h"
#include "queueing/reserve.h"

namespace windrow::fleet {
namespace {

// While serving: a prompt that delays no other request is computed in larger pieces, which take
// less time together. Not in the largest, as another request may arrive.
constexpr Duration kLoneStepTarget = std::chrono::seconds(1);

// There is nothing to measure: all passes of a simulated model cost alike.
constexpr int32_t kSimulatedPassTokens = 4096;

llm::StepObserver step_observer(const LoadOptions& how, const std::string& name) {
  return how.step_observer ? how.step_observer(name) : llm::StepObserver();
}

engine::GenerationOptions generation_options(const EngineOptions& engine_options,
                                             const LoadOptions& how, const std::string& name) {
  engine::GenerationOptions options{
      .step_target = engine_options.step_target,
      .output_tokens_default = engine_options.output_tokens_default,
      .call_reasoning_percent = engine_options.call_reasoning_percent,
      .schema_unknown = engine_options.schema_unknown,
      .date_unix_s = how.serving ? std::nullopt : std::optional(how.date_unix_s),
      .keep = how.serving,
      .on_step = step_observer(how, name),
      .on_rows = how.on_rows};
  if (how.serving) {
    options.lone_step_target = std::max(options.step_target, kLoneStepTarget);
    options.reserve = queueing::kServerReserve;
    options.start = {.window = engine_options.pack_window, .rows = engine_options.pack_rows_max};
  }
  return options;
}

engine::EmbeddingOptions pass_options(const EngineOptions& engine_options, const LoadOptions& how,
                                      const std::string& name) {
  engine::EmbeddingOptions options{.arriving = how.arriving, .on_step = step_observer(how, name)};
  if (how.serving) {
    options.batching_delay = {.max_linger = engine_options.linger_max,
                              .window = engine_options.pack_window,
                              .batch_size_max = engine_options.pack_rows_max};
  }
  return options;
}

// Memory comes in blocks of tokens, and is rounded up to whole ones. Empty: it is what was asked
// for.
std::string raised_context(int32_t asked, int32_t given) {
  if (asked == 0 || given == asked) return "";
  return fmt::format("--ctx {} was raised to {} tokens: context memory comes in whole blocks",
                     asked, with_thousands(given));
}

// How the two kinds of context are opened. `model` outlives the backend, as a member in front of
// it.
engine::ModelKinds model_kinds(const engine::LlamaModel& model, const ModelChoice& choice,
                               const EngineOptions& engine_options,
                               Result<chat::ChatTemplate> chat_template, const LoadOptions& how,
                               const Clock& clock) {
  engine::ModelKinds kinds{.open_aside = how.serving};
  kinds.generation =
      [&model, &clock, engine_options, how, path = choice.path, name = served_name(choice),
       chat_template =
           std::move(chat_template)]() -> Result<std::unique_ptr<engine::GenerationBackend>> {
    Result<std::unique_ptr<engine::ModelRunner>> runner =
        model.make_runner(runner_options(engine_options, how.memory_bytes));
    if (!runner) return runner.error().in(path);
    if (const std::string raised =
            raised_context(engine_options.context_tokens, (*runner)->limits().cells_max);
        how.warn && !raised.empty())
      how.warn(fmt::format("{}: {}", path, raised));
    return std::make_unique<engine::GenerationBackend>(
        *std::move(runner), model.vocabulary(), chat_template, clock,
        generation_options(engine_options, how, name), how.thread);
  };
  kinds.embedding = [&model, &clock, how,
                     options = embedding_options(engine_options, choice, how.memory_bytes),
                     passes = pass_options(engine_options, how, served_name(choice)),
                     path = choice.path]() -> Result<std::unique_ptr<engine::EmbeddingBackend>> {
    Result<std::unique_ptr<engine::EmbeddingRunner>> runner = model.make_embedding_runner(options);
    if (!runner) return runner.error().in(path);
    return std::make_unique<engine::EmbeddingBackend>(
        *std::move(runner), model.vocabulary(), model.pair_format(), clock, passes, how.thread);
  };
  if (model.facts().encoder_only) {
    kinds.no_generation = fmt::format(
        "{} is an encoder: it answers /v1/embeddings and /v1/rerank and generates no "
        "text; ask a model that does",
        choice.path);
  }
  return kinds;
}

engine::LlamaModelOptions llama_options(const ModelChoice& choice,
                                        const EngineOptions& engine_options,
                                        std::stop_token unwanted) {
  return {.devices = engine_options.devices,
          .adapters = choice.adapters,
          .unwanted = std::move(unwanted)};
}

// False: it is not wanted any more.
bool pause_for(Duration duration, const std::stop_token& unwanted) {
  std::mutex mutex;
  std::condition_variable_any never_notified;
  std::unique_lock lock(mutex);
  return !never_notified.wait_for(lock, unwanted, duration,
                                  [&] { return unwanted.stop_requested(); });
}

Result<LocalModel> load_simulated(const ModelChoice& choice, const EngineOptions& engine_options,
                                  const LoadOptions& how, const Clock& clock) {
  namespace sim = engine::sim;
  const Result<sim::SimOptions> model = sim::parse_sim(choice.path);
  if (!model) return model.error();
  const Result<chat::ChatTemplate> chat_template = simulated_chat_template(choice);
  if (!chat_template) return chat_template.error();
  LocalModel open{.name = choice.name,
                  .path = choice.path,
                  .weights = {},
                  .simulated = {},
                  .backend = {},
                  .abilities = {}};
  open.simulated = std::make_unique<sim::SimVocabulary>(model->vocabulary);
  const sim::SimVocabulary& vocabulary = *open.simulated;
  const sim::SimRunnerOptions options{.cells_max = engine_options.context_tokens,
                                      .rows_max = engine_options.rows_max,
                                      .step_tokens_max = engine_options.batch_tokens,
                                      .share = engine_options.share_prefixes};
  if (how.serving && model->load > Duration{} && !pause_for(model->load, how.unwanted)) {
    return Error{ErrorKind::kUnavailable, fmt::format("{}: not wanted any more", choice.path)};
  }
  const ModelAbilities abilities = simulated_abilities(choice);
  engine::ModelKinds kinds{.open_aside = how.serving};
  kinds.generation = [=, &vocabulary, &clock,
                      model = *model]() -> Result<std::unique_ptr<engine::GenerationBackend>> {
    return std::make_unique<engine::GenerationBackend>(
        std::make_unique<sim::SimRunner>(vocabulary, model, options, clock,
                                         std::make_unique<sim::RealPause>(clock)),
        vocabulary, chat_template, clock,
        generation_options(engine_options, how, served_name(choice)), how.thread);
  };
  engine::EmbeddingOptions passes = pass_options(engine_options, how, served_name(choice));
  passes.batch_tokens = kSimulatedPassTokens;
  kinds.embedding = [=, &vocabulary, &clock,
                     model = *model]() -> Result<std::unique_ptr<engine::EmbeddingBackend>> {
    const engine::Pooling pooling =
        abilities.ranks ? engine::Pooling::kRank : engine::Pooling::kMean;
    return std::make_unique<engine::EmbeddingBackend>(
        std::make_unique<sim::SimEmbeddingRunner>(vocabulary, model, pooling, clock,
                                                  std::make_unique<sim::RealPause>(clock)),
        vocabulary, engine::PairFormat{.separator = sim::SimVocabulary::kSeparator}, clock, passes,
        how.thread);
  };
  open.backend = std::make_unique<engine::ModelBackend>(std::move(kinds));
  open.abilities = abilities;
  return open;
}

}  // namespace

Result<LocalModel> load_model(engine::LlamaLibrary* library, const ModelChoice& choice,
                              const EngineOptions& engine_options, const LoadOptions& how,
                              const Clock& clock) {
  if (is_simulated(choice)) return load_simulated(choice, engine_options, how, clock);
  ENSURE(library != nullptr, "{} needs libllama", choice.path);
  Result<std::unique_ptr<engine::LlamaModel>> model = engine::LlamaModel::load(
      *library, choice.path, llama_options(choice, engine_options, how.unwanted));
  if (!model) return model.error();
  Result<chat::ChatTemplate> chat_template = chosen_chat_template(**model, choice);
  if (!chat_template && !choice.chat_template.empty()) {
    return chat_template.error();
  }
  const bool chats = chat_template.has_value();
  LocalModel open{.name = choice.name,
                  .path = choice.path,
                  .weights = *std::move(model),
                  .simulated = {},
                  .backend = {},
                  .abilities = {}};
  open.backend = std::make_unique<engine::ModelBackend>(
      model_kinds(*open.weights, choice, engine_options, std::move(chat_template), how, clock));
  open.abilities = abilities_of(open.weights->facts(), choice, chats);
  return open;
}

Result<void> open_likely_contexts(LocalModel& model) {
  const bool ranks = model.abilities.ranks;
  const llm::Endpoint embedding = ranks ? llm::Endpoint::kRerank : llm::Endpoint::kEmbeddings;
  const bool embeds = model.abilities.embeds_first || ranks || model.simulated != nullptr;
  std::vector<llm::Endpoint> first;
  if (embeds) first.push_back(embedding);
  if (!model.abilities.embeds_first) first.push_back(llm::Endpoint::kCompletions);
  for (const llm::Endpoint endpoint : first) {
    if (std::optional<llm::Failure> failure = model.backend->prepare(endpoint))
      return Error{ErrorKind::kUnavailable, failure->message};
  }
  return {};
}

uint64_t memory_of(const LocalModel& model, const ModelChoice& choice,
                   const EngineOptions& engine_options) {
  if (model.simulated) return simulated_bytes(choice);
  const engine::ModelFacts& facts = model.weights->facts();
  uint64_t bytes = facts.weights_bytes + adapter_bytes(choice);
  const engine::OpenKinds open = model.backend->open_kinds();
  if (open.generation) {
    bytes +=
        engine::context_bytes(facts, runner_options(engine_options, 0), open.generation->cells_max);
  }
  if (open.embedding) {
    bytes += engine::embedding_context_bytes(facts, embedding_options(engine_options, choice, 0),
                                             open.embedding->batch_tokens_max,
                                             open.embedding->input_tokens_max);
  }
  return bytes;
}

}  // namespace windrow::fleet
