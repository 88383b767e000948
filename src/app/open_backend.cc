#include "app/open_backend.h"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <utility>

#include "app/open_chat_template.h"
#include "app/run_options.h"
#include "app/template_file.h"
#include "base/ensure.h"
#include "base/format.h"
#include "base/hash.h"
#include "engine/llama/context_size.h"
#include "engine/sim/sim_embedding_runner.h"
#include "engine/sim/sim_options.h"
#include "engine/sim/sim_runner.h"

namespace windrow::app {
namespace {

constexpr uint64_t kHashedBytes = 1 << 20;

// Of a server: a prompt that keeps nobody waiting goes in larger pieces, which take less time
// together. Not in the largest, because somebody may come.
constexpr Duration kLoneStepTarget = std::chrono::seconds(1);

// There is nothing to measure: all passes of a simulated model cost alike.
constexpr int32_t kSimulatedPassTokens = 4096;

engine::FlashAttention flash_attention_of(const std::string& name) {
  if (name == "on") return engine::FlashAttention::kOn;
  if (name == "off") return engine::FlashAttention::kOff;
  return engine::FlashAttention::kAuto;
}

engine::LlamaEmbeddingOptions embedding_options(const Settings& settings, const ModelChoice& choice,
                                                uint64_t memory_bytes) {
  return {.pooling = choice.pooling,
          .threads = static_cast<int32_t>(settings.threads),
          .kv_type = engine::parse_kv_type(settings.kv_type).value_or(engine::KvType::kF16),
          .flash_attention = flash_attention_of(settings.flash_attn),
          .memory_bytes = memory_bytes};
}

engine::LlamaRunnerOptions runner_options(const Settings& settings, uint64_t memory_bytes) {
  return {.cells_max = static_cast<int32_t>(settings.ctx_tokens),
          .rows_max = static_cast<int32_t>(settings.rows_max),
          .step_tokens_max = static_cast<int32_t>(settings.batch_tokens),
          .threads = static_cast<int32_t>(settings.threads),
          .kv_type = engine::parse_kv_type(settings.kv_type).value_or(engine::KvType::kF16),
          .flash_attention = flash_attention_of(settings.flash_attn),
          .kv_cache =
              settings.kv_cache == "split" ? engine::KvCache::kSplit : engine::KvCache::kUnified,
          .share = settings.share,
          .memory_bytes = memory_bytes};
}

llm::StepObserver step_observer(const LoadOptions& how, const std::string& name) {
  return how.metrics == nullptr ? llm::StepObserver() : how.metrics->steps(name);
}

engine::GenerationOptions generation_options(const Settings& settings, const LoadOptions& how,
                                             const std::string& name) {
  const SettingsOf command = how.serving ? SettingsOf::kServe : SettingsOf::kRun;
  engine::GenerationOptions options{
      .step_target = std::chrono::milliseconds(step_target_ms(command, settings)),
      .output_tokens_default = static_cast<int32_t>(settings.output_tokens_default),
      .call_reasoning_percent = static_cast<int32_t>(settings.call_reasoning_percent),
      .schema_unknown = settings.schema_unknown == "refuse" ? llm::UnknownWords::kRefuse
                                                            : llm::UnknownWords::kAnnotate,
      .date_unix_s = how.serving ? std::nullopt : std::optional(how.date_unix_s),
      .keep = how.serving,
      .on_step = step_observer(how, name)};
  if (how.serving) {
    options.lone_step_target = std::max(options.step_target, kLoneStepTarget);
    options.reserve = queueing::kServerReserve;
    options.start = {.window = std::chrono::milliseconds(settings.pack_window_ms),
                     .rows = static_cast<int32_t>(settings.pack_rows_max)};
  }
  return options;
}

engine::EmbeddingOptions pass_options(const Settings& settings, const LoadOptions& how,
                                      const std::string& name) {
  engine::EmbeddingOptions options{.arriving = how.arriving, .on_step = step_observer(how, name)};
  if (how.serving) {
    options.lingering = {.max_linger = std::chrono::microseconds(settings.linger_us_max),
                         .window = std::chrono::milliseconds(settings.pack_window_ms),
                         .batch_size_max = static_cast<int32_t>(settings.pack_rows_max)};
  }
  return options;
}

// Memory comes in blocks of tokens, and is rounded up to whole ones. Empty: it is what was asked
// for.
std::string raised_context(int64_t asked, int64_t given) {
  if (asked == 0 || given == asked) return "";
  return fmt::format("--ctx {} was raised to {} tokens: context memory comes in whole blocks",
                     asked, with_thousands(given));
}

// How the two kinds of context are opened. `model` outlives the backend, as a member in front of
// it.
engine::ModelKinds model_kinds(const engine::LlamaModel& model, const ModelChoice& choice,
                               const Settings& settings, Result<chat::ChatTemplate> chat_template,
                               const LoadOptions& how, const Clock& clock) {
  engine::ModelKinds kinds{.open_aside = how.serving};
  kinds.generation = [&model, &clock, settings, how, path = choice.path, name = served_name(choice),
                      chat_template = std::move(
                          chat_template)]() -> Result<std::unique_ptr<engine::GenerationBackend>> {
    Result<std::unique_ptr<engine::ModelRunner>> runner =
        model.make_runner(runner_options(settings, how.memory_bytes));
    if (!runner) return runner.error().in(path);
    if (const std::string raised =
            raised_context(settings.ctx_tokens, (*runner)->limits().cells_max);
        how.tell && !raised.empty())
      how.tell(fmt::format("{}: {}", path, raised));
    return std::make_unique<engine::GenerationBackend>(
        *std::move(runner), model.vocabulary(), chat_template, clock,
        generation_options(settings, how, name), how.thread);
  };
  kinds.embedding = [&model, &clock, how,
                     options = embedding_options(settings, choice, how.memory_bytes),
                     passes = pass_options(settings, how, served_name(choice)),
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

}  // namespace

Result<std::string> model_identity(const std::string& path) {
  if (engine::sim::is_sim(path)) {
    const Result<engine::sim::SimOptions> model = engine::sim::parse_sim(path);
    if (!model) return model.error();
    return engine::sim::describe_answers(*model);
  }
  std::error_code error;
  const uint64_t size = std::filesystem::file_size(path, error);
  std::ifstream file(path, std::ios::binary);
  if (error || !file) {
    return Error{ErrorKind::kNotFound, fmt::format("{}: the model file cannot be read", path)};
  }
  std::string ends(std::min(size, 2 * kHashedBytes), '\0');
  const uint64_t first = std::min(size, kHashedBytes);
  file.read(ends.data(), static_cast<std::streamsize>(first));
  file.seekg(static_cast<std::streamoff>(size - (ends.size() - first)));
  file.read(ends.data() + first, static_cast<std::streamsize>(ends.size() - first));
  return fmt::format("{}, {} bytes, {}", std::filesystem::path(path).filename().string(), size,
                     to_hex(hash64(ends, size)));
}

std::string backends_folder() {
  if (const char* named = std::getenv("WINDROW_GGML_BACKENDS"); named != nullptr) return named;
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return "";
  const std::filesystem::path beside = self.parent_path() / "../lib/windrow/backends";
  return std::filesystem::is_directory(beside, error) ? beside.lexically_normal().string() : "";
}

bool is_simulated(const ModelChoice& choice) {
  return engine::sim::is_sim(choice.path);
}

namespace {

struct ModelTraits {
  bool generates = false;
  bool chats = false;  // it has a chat template
  bool ranks = false;
};

// Returns the endpoints that a model with these traits can answer.
llm::EndpointSet endpoints_of(const ModelTraits& traits) {
  using llm::Endpoint;
  const Endpoint vectors = traits.ranks ? Endpoint::kRerank : Endpoint::kEmbeddings;
  if (!traits.generates) return {vectors};
  if (!traits.chats) return {Endpoint::kCompletions, vectors};
  return {Endpoint::kChatCompletions, Endpoint::kCompletions, vectors};
}

bool ranks(const ModelChoice& choice, std::string_view own_pooling) {
  return choice.pooling ? *choice.pooling == engine::Pooling::kRank : own_pooling == "rank";
}

Result<chat::ChatTemplate> simulated_chat_template(const ModelChoice& choice) {
  const chat::SpecialTokens tokens{.begin = "", .end = "<|im_end|>"};
  if (choice.chat_template.empty() || choice.chat_template == "chatml")
    return chat::ChatTemplate::make("chatml", tokens);
  std::optional<std::string> text = choice.chat_template_text;
  if (!text) {
    Result<std::string> read = read_template_file(choice.chat_template);
    if (!read) return read.error();
    text = *std::move(read);
  }
  Result<chat::ChatTemplate> made = chat::ChatTemplate::make(*text, tokens);
  if (made) return made;
  return made.error().in(fmt::format("--chat-template {}", choice.chat_template));
}

// A file that names its pooling is made to embed or to rank, and what it would write is nothing.
bool generates(const engine::ModelFacts& facts) {
  return !facts.encoder_only && facts.pooling.empty();
}

bool embeds_first(const engine::ModelFacts& facts, const ModelChoice& choice) {
  return facts.encoder_only || !facts.pooling.empty() || choice.pooling.has_value();
}

engine::LlamaModelOptions llama_options(const ModelChoice& choice, const Settings& settings,
                                        std::stop_token unwanted) {
  return {.gpu_layers = static_cast<int32_t>(settings.gpu_layers),
          .device = settings.device,
          .adapters = choice.adapters,
          .unwanted = std::move(unwanted)};
}

// False: it was not wanted any more.
bool pause_for(Duration duration, const std::stop_token& unwanted) {
  std::mutex mutex;
  std::condition_variable_any nobody;  // tells
  std::unique_lock lock(mutex);
  return !nobody.wait_for(lock, unwanted, duration, [&] { return unwanted.stop_requested(); });
}

Result<OpenModel> open_simulated(const ModelChoice& choice, const Settings& settings,
                                 const LoadOptions& how, const Clock& clock) {
  namespace sim = engine::sim;
  const Result<sim::SimOptions> model = sim::parse_sim(choice.path);
  if (!model) return model.error();
  const Result<chat::ChatTemplate> chat_template = simulated_chat_template(choice);
  if (!chat_template) return chat_template.error();
  OpenModel open{
      .name = choice.name, .path = choice.path, .model = {}, .simulated = {}, .backend = {}};
  open.simulated = std::make_unique<sim::SimVocabulary>(model->vocabulary);
  const sim::SimVocabulary& vocabulary = *open.simulated;
  const sim::SimRunnerOptions options{
      .cells_max = static_cast<int32_t>(settings.ctx_tokens),
      .rows_max = static_cast<int32_t>(settings.rows_max),
      .step_tokens_max = static_cast<int32_t>(settings.batch_tokens),
      .share = settings.share};
  if (how.serving && model->load > Duration{} && !pause_for(model->load, how.unwanted)) {
    return Error{ErrorKind::kUnavailable, fmt::format("{}: not wanted any more", choice.path)};
  }
  const bool is_reranker = ranks(choice, "");
  engine::ModelKinds kinds{.open_aside = how.serving};
  kinds.generation = [=, &vocabulary, &clock,
                      model = *model]() -> Result<std::unique_ptr<engine::GenerationBackend>> {
    return std::make_unique<engine::GenerationBackend>(
        std::make_unique<sim::SimRunner>(vocabulary, model, options, clock,
                                         std::make_unique<sim::RealPause>(clock)),
        vocabulary, chat_template, clock, generation_options(settings, how, served_name(choice)),
        how.thread);
  };
  engine::EmbeddingOptions passes = pass_options(settings, how, served_name(choice));
  passes.batch_tokens = kSimulatedPassTokens;
  kinds.embedding = [=, &vocabulary, &clock,
                     model = *model]() -> Result<std::unique_ptr<engine::EmbeddingBackend>> {
    const engine::Pooling pooling = is_reranker ? engine::Pooling::kRank : engine::Pooling::kMean;
    return std::make_unique<engine::EmbeddingBackend>(
        std::make_unique<sim::SimEmbeddingRunner>(vocabulary, model, pooling, clock,
                                                  std::make_unique<sim::RealPause>(clock)),
        vocabulary, engine::PairFormat{.separator = sim::SimVocabulary::kSeparator}, clock, passes,
        how.thread);
  };
  open.backend = std::make_unique<engine::ModelBackend>(std::move(kinds));
  open.endpoints = endpoints_of({.generates = true, .chats = true, .ranks = is_reranker});
  return open;
}

}  // namespace

Result<OpenModel> open_model(engine::LlamaLibrary* library, const ModelChoice& choice,
                             const Settings& settings, const LoadOptions& how, const Clock& clock) {
  if (is_simulated(choice)) return open_simulated(choice, settings, how, clock);
  ENSURE(library != nullptr, "{} needs libllama", choice.path);
  Result<std::unique_ptr<engine::LlamaModel>> model = engine::LlamaModel::load(
      *library, choice.path, llama_options(choice, settings, how.unwanted));
  if (!model) return model.error();
  Result<chat::ChatTemplate> chat_template = open_chat_template(**model, choice);
  if (!chat_template && !choice.chat_template.empty()) {
    return chat_template.error();
  }
  const bool chats = chat_template.has_value();
  OpenModel open{.name = choice.name,
                 .path = choice.path,
                 .model = *std::move(model),
                 .simulated = {},
                 .backend = {}};
  open.backend = std::make_unique<engine::ModelBackend>(
      model_kinds(*open.model, choice, settings, std::move(chat_template), how, clock));
  const engine::ModelFacts& facts = open.model->facts();
  open.endpoints = endpoints_of(
      {.generates = generates(facts), .chats = chats, .ranks = ranks(choice, facts.pooling)});
  open.embeds_first = embeds_first(facts, choice);
  return open;
}

namespace {

constexpr uint64_t kMegabyte = 1'000'000;

uint64_t bytes_of_adapters(const ModelChoice& choice) {
  uint64_t bytes = 0;
  for (const engine::AdapterChoice& adapter : choice.adapters) {
    std::error_code error;
    const uint64_t size = std::filesystem::file_size(adapter.path, error);
    bytes += error ? 0 : size;
  }
  return bytes;
}

// Checked when the header was read, or the model loaded.
engine::sim::SimOptions simulated(const ModelChoice& choice) {
  return engine::sim::parse_sim(choice.path).value();
}

uint64_t simulated_bytes(const ModelChoice& choice) {
  return static_cast<uint64_t>(simulated(choice).memory_mb) * kMegabyte;
}

}  // namespace

Result<ModelHeader> read_model_header(engine::LlamaLibrary* library, const ModelChoice& choice) {
  if (is_simulated(choice)) {
    const Result<engine::sim::SimOptions> model = engine::sim::parse_sim(choice.path);
    if (!model) return model.error();
    return ModelHeader{.facts = std::nullopt, .weights_bytes = simulated_bytes(choice)};
  }
  ENSURE(library != nullptr, "{} needs libllama", choice.path);
  Result<engine::ModelFacts> facts = engine::LlamaModel::read_header(*library, choice.path);
  if (!facts) return facts.error();
  const uint64_t bytes = facts->weights_bytes + bytes_of_adapters(choice);
  return ModelHeader{.facts = *std::move(facts), .weights_bytes = bytes};
}

Result<void> look_at_model(engine::LlamaLibrary* library, const ModelChoice& choice) {
  if (is_simulated(choice)) return {};
  ENSURE(library != nullptr, "{} needs libllama", choice.path);
  return engine::LlamaModel::rehearse(*library, choice.path);
}

ModelEstimate model_estimate(const ModelHeader& header, const ModelChoice& choice,
                             const Settings& settings, uint64_t context_memory_bytes) {
  ModelEstimate outlook{.bytes = header.weights_bytes,
                        .context_memory_bytes = context_memory_bytes};
  if (!header.facts) {
    outlook.endpoints =
        endpoints_of({.generates = true, .chats = true, .ranks = ranks(choice, "")});
    outlook.vocabulary_size = engine::sim::SimVocabulary(simulated(choice).vocabulary).size();
    outlook.context_tokens = simulated(choice).context;
    if (settings.ctx_tokens > 0) {
      outlook.context_tokens =
          static_cast<int32_t>(std::min<int64_t>(outlook.context_tokens, settings.ctx_tokens));
    }
    return outlook;
  }
  const engine::ModelFacts& facts = *header.facts;
  const bool is_reranker = ranks(choice, facts.pooling);
  // One that was named is there, or the model cannot be loaded.
  const bool chats = !choice.chat_template.empty() || own_chat_template(facts).has_value();
  outlook.endpoints =
      endpoints_of({.generates = generates(facts), .chats = chats, .ranks = is_reranker});
  outlook.vocabulary_size = facts.vocabulary_size;
  outlook.embeds_first = embeds_first(facts, choice);
  if (outlook.embeds_first || is_reranker) {
    const engine::LlamaEmbeddingOptions options =
        embedding_options(settings, choice, context_memory_bytes);
    const engine::Pooling pooling = choice.pooling.value_or(
        engine::parse_pooling(facts.pooling).value_or(engine::Pooling::kMean));
    const engine::EmbeddingSizes sizes =
        engine::embedding_sizes(facts, pooling, options, context_memory_bytes);
    outlook.context_tokens = sizes.input_tokens;
    outlook.bytes +=
        engine::embedding_context_bytes(facts, options, sizes.batch_tokens, sizes.input_tokens);
  }
  if (!outlook.embeds_first) {
    const engine::LlamaRunnerOptions options = runner_options(settings, context_memory_bytes);
    const int32_t cells =
        engine::whole_cells(engine::cells_of(facts, options, context_memory_bytes));
    const int32_t of_row =
        options.kv_cache == engine::KvCache::kSplit ? cells / options.rows_max : cells;
    outlook.context_tokens = std::min(of_row, std::max(facts.context_trained, 1));
    outlook.bytes += engine::context_bytes(facts, options, cells);
  }
  return outlook;
}

uint64_t bytes_of(const OpenModel& model, const ModelChoice& choice, const Settings& settings) {
  if (model.simulated) return simulated_bytes(choice);
  const engine::ModelFacts& facts = model.model->facts();
  uint64_t bytes = facts.weights_bytes + bytes_of_adapters(choice);
  const engine::OpenKinds open = model.backend->open_kinds();
  if (open.generation)
    bytes += engine::context_bytes(facts, runner_options(settings, 0), open.generation->cells_max);
  if (open.embedding) {
    bytes += engine::embedding_context_bytes(facts, embedding_options(settings, choice, 0),
                                             open.embedding->batch_tokens_max,
                                             open.embedding->input_tokens_max);
  }
  return bytes;
}

Result<void> open_likely_contexts(OpenModel& model) {
  const bool ranks = model.endpoints.contains(llm::Endpoint::kRerank);
  const llm::Endpoint embedding = ranks ? llm::Endpoint::kRerank : llm::Endpoint::kEmbeddings;
  const bool embeds = model.embeds_first || ranks || model.simulated != nullptr;
  std::vector<llm::Endpoint> first;
  if (embeds) first.push_back(embedding);
  if (!model.embeds_first) first.push_back(llm::Endpoint::kCompletions);
  for (const llm::Endpoint endpoint : first) {
    if (std::optional<llm::Failure> failure = model.backend->prepare(endpoint))
      return Error{ErrorKind::kUnavailable, failure->message};
  }
  return {};
}

}  // namespace windrow::app
