// LlamaModel: a GGUF file, loaded: its weights, its vocabulary and what it says of itself. Runners
// made of it share the weights.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/embed/pair_tokens.h"
#include "engine/host/embedding_runner.h"
#include "engine/host/model_runner.h"
#include "engine/host/vocabulary.h"
#include "engine/llama/llama_adapters.h"
#include "engine/llama/llama_library.h"

struct ggml_backend_device;
struct llama_model;

namespace windrow::engine {

struct LlamaModelOptions {
  int32_t gpu_layers = -1;  // layers on the GPU; -1: as many as fit
  std::string device;       // a name of LlamaLibrary::devices(); empty: all of them
  std::vector<AdapterChoice> adapters = {};  // every context of the model runs with them
  std::stop_token unwanted = {};             // loading is given up soon after it was stopped
};

// Number format of the KV cache.
enum class KvType : uint8_t { kF32, kF16, kBf16, kQ8_0, kQ5_1, kQ5_0, kQ4_1, kQ4_0 };

std::optional<KvType> parse_kv_type(std::string_view name);
std::string_view to_string(KvType type);

enum class FlashAttention : uint8_t { kAuto, kOn, kOff };

// How the cells of a context are given to its rows.
enum class KvCache : uint8_t {
  kUnified,  // all from one store: rows may be of any length and share their beginnings, and a
             // step reads everybody's cells
  kSplit,    // the same number to each: nothing is shared, and a row reads its own only
};

struct LlamaRunnerOptions {
  int32_t cells_max = 0;  // 0: chosen by the model's context and the memory that is free
  int32_t rows_max = 32;  // rows at once, 1 .. 256
  int32_t step_tokens_max = 2048;
  int32_t threads = 0;  // 0: the cores this process may use
  KvType kv_type = KvType::kF16;
  FlashAttention flash_attention = FlashAttention::kAuto;
  KvCache kv_cache = KvCache::kUnified;
  bool share = true;  // prefixes, as far as model and cache can

  // Without cells_max: chosen as if no more than this were free; 0: by what is.
  uint64_t memory_bytes = 0;
};

struct LlamaEmbeddingOptions {
  std::optional<Pooling> pooling;  // absent: as the file says, else the mean
  int32_t input_tokens_max = 0;    // of one input; 0: chosen by the model's context and memory
  int32_t threads = 0;             // 0: the cores this process may use
  KvType kv_type = KvType::kF16;   // of models that attend over a cache; encoders have none
  FlashAttention flash_attention = FlashAttention::kAuto;
  uint64_t memory_bytes = 0;  // LlamaRunnerOptions
};

// What a model is, for people and for the checks before a job.
struct ModelFacts {
  std::string architecture;  // "qwen3"
  std::string name;          // general.name, or empty
  std::string license;       // general.license ("apache-2.0"), or empty
  std::string description;   // architecture, size and quantisation in libllama's words
  uint64_t parameters = 0;
  uint64_t weights_bytes = 0;
  int32_t layers = 0;
  int32_t embedding_length = 0;
  int32_t heads = 0;  // of attention
  int32_t context_trained = 0;
  int32_t vocabulary_size = 0;
  int32_t sliding_window = 0;  // 0: none
  bool recurrent = false;
  bool hybrid = false;
  bool encoder_only = false;
  std::string pooling;  // as the file says, "mean"; empty: it does not, and the mean is taken
  Sharing sharing = Sharing::kNothing;
  uint64_t cell_bytes_f16 = 0;  // KV cache of one token in f16; an upper bound for hybrids
  std::string chat_template;    // empty: none
  std::string begin_text;       // of the tokens that templates call bos_token and eos_token;
  std::string end_text;         // empty: none
};

// Const and thread-safe once loaded.
class LlamaModel {
 public:
  // kNotFound and kInvalid for a file that is not there, not a GGUF model, or one whose header
  // libllama would end the process over (gguf_header.h, abort_guard.h); kUnavailable for a
  // model that libllama cannot load or that is of a kind Windrow does not run (encoder-decoder,
  // diffusion). `library` must outlive the model.
  static Result<std::unique_ptr<LlamaModel>> load(LlamaLibrary& library, const std::string& path,
                                                  const LlamaModelOptions& options);

  // Looks whether libllama can load the file and make a context of it, as far as that shows without
  // its weights being read: its header, its tensors' shapes, the graph of a pass. Takes about as
  // long as reading the vocabulary twice. Errors as load.
  static Result<void> rehearse(LlamaLibrary& library, const std::string& path);

  // What a file says of itself, without its weights being read: some milliseconds, and as much as a
  // vocabulary takes. Where heads differ from layer to layer cell_bytes_f16 is a bound. Errors as
  // load, as far as the file shows them so.
  static Result<ModelFacts> read_header(LlamaLibrary& library, const std::string& path);

  ~LlamaModel();
  LlamaModel(const LlamaModel&) = delete;
  LlamaModel& operator=(const LlamaModel&) = delete;

  const ModelFacts& facts() const { return facts_; }
  const Vocabulary& vocabulary() const { return *vocabulary_; }

  // Files may carry further chat templates beside the default one, each under a name ("tool_use").
  std::optional<std::string> named_chat_template(const std::string& name) const;

  // A context of its own on these weights, for generation, through which one token has run
  // (trial_step.h). The model must outlive it. kInvalid for options that cannot be and for a model
  // that cannot be computed, kUnavailable when memory ends or the model answers nothing (an
  // encoder).
  Result<std::unique_ptr<ModelRunner>> make_runner(const LlamaRunnerOptions& options) const;

  // The same for embeddings, or with Pooling::kRank for reranking.
  // The model must outlive it. kInvalid for options that cannot be and for kRank where the model
  // has no classification head, kUnavailable when memory ends.
  Result<std::unique_ptr<EmbeddingRunner>> make_embedding_runner(
      const LlamaEmbeddingOptions& options) const;

  // How a query and a document are put together for it, if it is a reranker.
  PairFormat pair_format() const;

 private:
  LlamaModel(LlamaLibrary& library, std::string path, llama_model* model,
             ggml_backend_device* device);

  LlamaLibrary& library_;
  const std::string path_;
  llama_model* model_;
  ggml_backend_device* device_;  // whose memory it fills
  LlamaAdapters adapters_;
  std::unique_ptr<Vocabulary> vocabulary_;
  ModelFacts facts_;
};

}  // namespace windrow::engine
