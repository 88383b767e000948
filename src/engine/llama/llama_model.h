// LlamaModel: a loaded GGUF file: its weights, its vocabulary and its facts. Runners made of it
// share the weights.
#pragma once

#include <cstdint>
#include <map>
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
#include "engine/llama/device_choice.h"
#include "engine/llama/hosting_devices.h"
#include "engine/llama/llama_adapters.h"
#include "engine/llama/llama_library.h"

struct llama_model;

namespace windrow::engine {

struct LlamaModelOptions {
  DeviceChoice devices = {};                 // among LlamaLibrary::devices()
  std::vector<AdapterChoice> adapters = {};  // for every context of the model
  std::stop_token unwanted = {};             // stopped: loading is given up soon
};

// Number format of the KV cache.
enum class KvType : uint8_t { kF32, kF16, kBf16, kQ8_0, kQ5_1, kQ5_0, kQ4_1, kQ4_0 };

std::optional<KvType> parse_kv_type(std::string_view name);
std::string_view to_string(KvType type);

enum class FlashAttention : uint8_t { kAuto, kOn, kOff };

// How the cells of a context are divided among its rows.
enum class KvCache : uint8_t {
  kUnified,  // all from one store: rows have any length and can share prefixes, and a step reads
             // the cells of all rows
  kSplit,    // the same number for each: nothing is shared, and a row reads only its own
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

  // Without cells_max: cells are chosen as if no more than this were free; 0: by what is free.
  uint64_t memory_bytes = 0;
};

struct LlamaEmbeddingOptions {
  std::optional<Pooling> pooling;  // absent: as the file says, else the mean
  int32_t input_tokens_max = 0;    // of one input; 0: chosen by the model's context and memory
  int32_t threads = 0;             // 0: the cores this process may use
  KvType kv_type = KvType::kF16;   // of models that attend over a cache; encoders have none
  FlashAttention flash_attention = FlashAttention::kAuto;
  uint64_t memory_bytes = 0;  // as in LlamaRunnerOptions
};

// Facts of a model, for people and for the checks before a job.
struct ModelFacts {
  std::string architecture;  // "qwen3"
  std::string name;          // general.name, or empty
  std::string license;       // general.license ("apache-2.0"), or empty
  std::string description;   // architecture, size and quantisation, by libllama
  uint64_t parameters = 0;
  uint64_t weights_bytes = 0;
  int32_t layers = 0;
  int32_t embedding_length = 0;
  int32_t heads = 0;
  int32_t context_trained = 0;
  int32_t vocabulary_size = 0;
  int32_t sliding_window = 0;  // 0: none
  bool recurrent = false;
  bool hybrid = false;
  bool encoder_only = false;
  std::string pooling;  // of the file ("mean"); empty: not in the file, and the mean is taken
  Sharing sharing = Sharing::kNothing;
  uint64_t cell_bytes_f16 = 0;  // KV cache of one token in f16; an upper bound for hybrids
  std::string chat_template;    // empty: none
  std::string begin_text;       // bos_token and eos_token of templates; empty: none
  std::string end_text;
};

// What a file has for texts, loaded without its weights.
struct LoadedVocabulary {
  std::shared_ptr<const Vocabulary> vocabulary;  // keeps what libllama has of the file
  ModelFacts facts;                              // as LlamaModel::read_header has them

  // Further chat templates of the file by their names ("tool_use").
  std::map<std::string, std::string> named_chat_templates;
};

// Const and thread-safe once loaded.
class LlamaModel {
 public:
  // kNotFound: there is no such file. kInvalid: it is no GGUF model, libllama would end the process
  // over its header (gguf_header.h, abort_guard.h), or the devices cannot be chosen so.
  // kUnavailable: libllama cannot load it, or it is of a kind that Windrow does not run
  // (encoder-decoder, diffusion). Blocks for as long as loading takes. `library` must outlive the
  // model.
  static Result<std::unique_ptr<LlamaModel>> load(LlamaLibrary& library, const std::string& path,
                                                  const LlamaModelOptions& options);

  // Checks whether libllama can load the file and make a context of it, as far as that shows
  // without reading the weights: header, shapes of tensors, graph of a pass. Takes about as long as
  // reading the vocabulary twice. Errors as load().
  static Result<void> rehearse(LlamaLibrary& library, const std::string& path);

  // The facts of a file, without reading the weights: takes some milliseconds, and the memory of a
  // vocabulary. Where heads differ between layers cell_bytes_f16 is a bound. Errors as load(), as
  // far as they show in the header.
  static Result<ModelFacts> read_header(LlamaLibrary& library, const std::string& path);

  // The vocabulary of a file and its chat templates, without reading the weights. `library` must
  // outlive the vocabulary. Errors as read_header(); kUnavailable also for a file without one.
  static Result<LoadedVocabulary> load_vocabulary(LlamaLibrary& library, const std::string& path);

  ~LlamaModel();
  LlamaModel(const LlamaModel&) = delete;
  LlamaModel& operator=(const LlamaModel&) = delete;

  const ModelFacts& facts() const { return facts_; }
  const Vocabulary& vocabulary() const { return *vocabulary_; }

  // A further chat template of the file, by its name ("tool_use"). nullopt: there is none.
  std::optional<std::string> named_chat_template(const std::string& name) const;

  // A context of its own for generation on these weights, through which one token has run
  // (llama_context_setup.h). The model must outlive it. kInvalid: impossible options, or a model
  // that cannot be computed. kUnavailable: out of memory, or the model cannot generate (an
  // encoder).
  Result<std::unique_ptr<ModelRunner>> make_runner(const LlamaRunnerOptions& options) const;

  // The same for embeddings, or with Pooling::kRank for reranking. kInvalid also for kRank where
  // the model has no classification head.
  Result<std::unique_ptr<EmbeddingRunner>> make_embedding_runner(
      const LlamaEmbeddingOptions& options) const;

  // How a query and a document are joined, if it is a reranker.
  PairFormat pair_format() const;

 private:
  LlamaModel(LlamaLibrary& library, std::string path, llama_model* model, HostingDevices devices);

  LlamaLibrary& library_;
  const std::string path_;
  llama_model* model_;
  const HostingDevices devices_;
  LlamaAdapters adapters_;
  std::unique_ptr<Vocabulary> vocabulary_;
  ModelFacts facts_;
};

}  // namespace windrow::engine
