#include "app/open_backend.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <utility>

#include "app/open_chat_template.h"
#include "base/hash.h"

namespace windrow::app {
namespace {

constexpr uint64_t kHashedBytes = 1 << 20;

engine::FlashAttention flash_attention_of(const std::string& name) {
  if (name == "on") return engine::FlashAttention::kOn;
  if (name == "off") return engine::FlashAttention::kOff;
  return engine::FlashAttention::kAuto;
}

engine::LlamaEmbeddingOptions embedding_options(const Settings& settings,
                                                const ModelChoice& choice) {
  return {.pooling = choice.pooling,
          .threads = static_cast<int32_t>(settings.threads),
          .kv_type = engine::parse_kv_type(settings.kv_type).value_or(engine::KvType::kF16),
          .flash_attention = flash_attention_of(settings.flash_attn)};
}

engine::LlamaRunnerOptions runner_options(const Settings& settings) {
  return {.cells_max = static_cast<int32_t>(settings.ctx_tokens),
          .rows_max = static_cast<int32_t>(settings.rows_max),
          .step_tokens_max = static_cast<int32_t>(settings.batch_tokens),
          .threads = static_cast<int32_t>(settings.threads),
          .kv_type = engine::parse_kv_type(settings.kv_type).value_or(engine::KvType::kF16),
          .flash_attention = flash_attention_of(settings.flash_attn),
          .kv_cache =
              settings.kv_cache == "split" ? engine::KvCache::kSplit : engine::KvCache::kUnified,
          .share = settings.share};
}

// How the two kinds of context are opened. `model` outlives the backend, as a member in front of
// it.
engine::ModelKinds model_kinds(const engine::LlamaModel& model, const ModelChoice& choice,
                               const Settings& settings, Result<chat::ChatTemplate> chat_template,
                               int64_t date_unix_s, const Clock& clock) {
  engine::ModelKinds kinds;
  kinds.generation = [&model, &clock, settings, date_unix_s, path = choice.path,
                      chat_template = std::move(
                          chat_template)]() -> Result<std::unique_ptr<engine::GenerationBackend>> {
    Result<std::unique_ptr<engine::ModelRunner>> runner =
        model.make_runner(runner_options(settings));
    if (!runner) return runner.error().in(path);
    return std::make_unique<engine::GenerationBackend>(
        *std::move(runner), model.vocabulary(), chat_template, clock,
        engine::GenerationOptions{
            .step_target = std::chrono::milliseconds(settings.step_ms),
            .output_tokens_default = static_cast<int32_t>(settings.output_tokens_default),
            .date_unix_s = date_unix_s});
  };
  kinds.embedding = [&model, &clock, options = embedding_options(settings, choice),
                     path = choice.path]() -> Result<std::unique_ptr<engine::EmbeddingBackend>> {
    Result<std::unique_ptr<engine::EmbeddingRunner>> runner = model.make_embedding_runner(options);
    if (!runner) return runner.error().in(path);
    return std::make_unique<engine::EmbeddingBackend>(*std::move(runner), model.vocabulary(),
                                                      model.pair_format(), clock,
                                                      engine::EmbeddingOptions{});
  };
  if (model.facts().encoder_only) {
    kinds.no_generation = fmt::format(
        "{} is an encoder: it answers /v1/embeddings and /v1/rerank and generates no "
        "text; send this row to a model that does",
        choice.path);
  }
  return kinds;
}

}  // namespace

Result<std::string> model_identity(const std::string& path) {
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

Result<OpenModel> open_model(engine::LlamaLibrary& library, const ModelChoice& choice,
                             const Settings& settings, int64_t date_unix_s, const Clock& clock) {
  Result<std::unique_ptr<engine::LlamaModel>> model =
      engine::LlamaModel::load(library, choice.path,
                               {.gpu_layers = static_cast<int32_t>(settings.gpu_layers),
                                .device = settings.device,
                                .adapters = choice.adapters});
  if (!model) return model.error();
  Result<chat::ChatTemplate> chat_template = open_chat_template(**model, choice);
  if (!chat_template && !choice.chat_template.empty()) {
    return chat_template.error();
  }
  OpenModel open{
      .name = choice.name, .path = choice.path, .model = *std::move(model), .backend = {}};
  open.backend = std::make_unique<engine::ModelBackend>(
      model_kinds(*open.model, choice, settings, std::move(chat_template), date_unix_s, clock));
  return open;
}

}  // namespace windrow::app
