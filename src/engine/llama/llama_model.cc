#include "engine/llama/llama_model.h"

#include <fmt/format.h>
#include <ggml-backend.h>
#include <llama.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <thread>
#include <utility>

#include "engine/llama/abort_guard.h"
#include "engine/llama/gguf_header.h"
#include "engine/llama/llama_embedding_runner.h"
#include "engine/llama/llama_library.h"
#include "engine/llama/llama_runner.h"
#include "engine/llama/llama_vocabulary.h"
#include "engine/llama/memory_plan.h"

namespace windrow::engine {
namespace {

std::string metadata(const llama_model* model, const std::string& key) {
  std::array<char, 256> buffer{};
  const int32_t length = llama_model_meta_val_str(model, key.c_str(), buffer.data(), buffer.size());
  if (length < 0) return "";
  if (static_cast<size_t>(length) < buffer.size()) return buffer.data();
  std::string text(static_cast<size_t>(length) + 1, '\0');
  llama_model_meta_val_str(model, key.c_str(), text.data(), text.size());
  text.resize(static_cast<size_t>(length));
  return text;
}

int32_t metadata_number(const llama_model* model, const std::string& key, int32_t otherwise) {
  const std::string text = metadata(model, key);
  int32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && !text.empty() ? number : otherwise;
}

Sharing sharing_of(const ModelFacts& facts) {
  if (facts.encoder_only) return Sharing::kNothing;
  const bool whole_cache = !facts.recurrent && !facts.hybrid && facts.sliding_window == 0;
  return whole_cache ? Sharing::kAnyRange : Sharing::kExactEnd;
}

// Empty also for "none", which no embedding can follow.
std::string pooling_name(int32_t type) {
  constexpr std::array<std::string_view, 5> kNames = {"", "mean", "cls", "last", "rank"};
  if (type < 0 || static_cast<size_t>(type) >= kNames.size()) return "";
  return std::string(kNames.at(static_cast<size_t>(type)));
}

std::string metadata_text(const llama_vocab* vocabulary, llama_token token) {
  const char* text = token < 0 ? nullptr : llama_vocab_get_text(vocabulary, token);
  return text == nullptr ? "" : text;
}

bool is_hybrid([[maybe_unused]] const llama_model* model) {
#if WINDROW_HAVE_LLAMA_MODEL_IS_HYBRID
  return llama_model_is_hybrid(model);
#else
  return false;
#endif
}

void add_texts(const llama_model* model, ModelFacts& facts) {
  const char* chat_template = llama_model_chat_template(model, nullptr);
  if (chat_template != nullptr) facts.chat_template = chat_template;
  const llama_vocab* vocabulary = llama_model_get_vocab(model);
  facts.begin_text = metadata_text(vocabulary, llama_vocab_bos(vocabulary));
  facts.end_text = metadata_text(vocabulary, llama_vocab_eos(vocabulary));
}

ModelFacts read_facts(const llama_model* model) {
  ModelFacts facts;
  facts.architecture = metadata(model, "general.architecture");
  facts.name = metadata(model, "general.name");
  facts.license = metadata(model, "general.license");
  std::array<char, 256> description{};
  llama_model_desc(model, description.data(), description.size());
  facts.parameters = llama_model_n_params(model);
  facts.description = described_model(description.data(), facts.parameters);
  facts.weights_bytes = llama_model_size(model);
  facts.layers = llama_model_n_layer(model);
  facts.embedding_length = llama_model_n_embd(model);
  facts.context_trained = llama_model_n_ctx_train(model);
  facts.vocabulary_size = llama_vocab_n_tokens(llama_model_get_vocab(model));
  facts.sliding_window = llama_model_n_swa(model);
  facts.recurrent = llama_model_is_recurrent(model);
  facts.hybrid = is_hybrid(model);
  // libllama says nothing of attention being causal; the metadata does for most encoders.
  facts.encoder_only = metadata(model, facts.architecture + ".attention.causal") == "false" ||
                       !llama_model_has_decoder(model);
  facts.pooling = pooling_name(metadata_number(model, facts.architecture + ".pooling_type", -1));
  facts.sharing = sharing_of(facts);
  const int32_t heads = std::max(llama_model_n_head(model), 1);
  facts.heads = heads;
  const int32_t head_length = facts.embedding_length / heads;
  const std::string attention = facts.architecture + ".attention.";
  const int64_t kv_lengths = metadata_number(model, attention + "key_length", head_length) +
                             metadata_number(model, attention + "value_length", head_length);
  // Of its first layer, which in a hybrid may be one without attention.
  const int32_t heads_kv = llama_model_n_head_kv(model);
  facts.cell_bytes_f16 = static_cast<uint64_t>(facts.layers) *
                         static_cast<uint64_t>(heads_kv == 0 && facts.hybrid ? heads : heads_kv) *
                         static_cast<uint64_t>(kv_lengths) * 2;
  add_texts(model, facts);
  return facts;
}

// Of a model of which only the vocabulary was loaded: the library knows nothing else of it but its
// metadata.
ModelFacts read_header_facts(const llama_model* model) {
  ModelFacts facts;
  facts.architecture = metadata(model, "general.architecture");
  const auto number = [&](std::string_view key, int32_t otherwise) {
    return metadata_number(model, fmt::format("{}.{}", facts.architecture, key), otherwise);
  };
  facts.weights_bytes = llama_model_size(model);
  facts.layers = number("block_count", 0);
  facts.embedding_length = number("embedding_length", 0);
  facts.context_trained = number("context_length", 0);
  facts.vocabulary_size = llama_vocab_n_tokens(llama_model_get_vocab(model));
  facts.sliding_window = number("attention.sliding_window", 0);
  facts.recurrent = llama_model_is_recurrent(model);
  facts.hybrid = is_hybrid(model);
  facts.encoder_only = metadata(model, facts.architecture + ".attention.causal") == "false" ||
                       !llama_model_has_decoder(model);
  facts.pooling = pooling_name(number("pooling_type", -1));
  facts.sharing = sharing_of(facts);
  facts.heads = std::max(number("attention.head_count", 1), 1);
  const int32_t head_length = facts.embedding_length / facts.heads;
  const int64_t kv_lengths = int64_t{number("attention.key_length", head_length)} +
                             number("attention.value_length", head_length);
  facts.cell_bytes_f16 = static_cast<uint64_t>(facts.layers) *
                         static_cast<uint64_t>(number("attention.head_count_kv", facts.heads)) *
                         static_cast<uint64_t>(kv_lengths) * 2;
  add_texts(model, facts);
  return facts;
}

// libllama reads what it is given; these texts are clearer than its own.
Result<void> check_file(const std::string& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) {
    return Error{ErrorKind::kNotFound, fmt::format("{}: there is no such model file", path)};
  }
  if (std::filesystem::is_directory(status)) {
    return Error{ErrorKind::kInvalid,
                 fmt::format("{}: this is a folder; give the .gguf file inside it", path)};
  }
  std::ifstream file(path, std::ios::binary);
  std::array<char, 4> magic{};
  if (!file) return Error{ErrorKind::kInvalid, fmt::format("{}: the file cannot be read", path)};
  file.read(magic.data(), magic.size());
  if (std::string_view(magic.data(), magic.size()) != "GGUF") {
    return Error{ErrorKind::kInvalid,
                 fmt::format("{}: this is not a GGUF file (it does not start with \"GGUF\"); other "
                             "formats must be converted first",
                             path)};
  }
  file.close();
  std::optional<GgufHeader> header;
  const std::optional<std::string> aborted =
      guard_against_abort(path, [&] { header = read_gguf_header(path); });
  if (aborted) return abort_error("read the header of this file", *aborted).in(path);
  if (!header) return {};  // libllama says why
  if (Result<void> checked = check_header(*header); !checked) return checked.error().in(path);
  return {};
}

// A model that libllama loaded, or what it said instead.
using LoadedByLlama = std::unique_ptr<llama_model, decltype(&llama_model_free)>;

Result<LoadedByLlama> load_guarded(LlamaLibrary& library, const std::string& path,
                                   const std::function<llama_model*()>& load) {
  llama_model* model = nullptr;
  std::optional<std::string> aborted;
  const std::string reason = library.reason_of_failure(
      [&] { aborted = guard_against_abort(path, [&] { model = load(); }); });
  if (aborted) return abort_error("load this model", *aborted).in(path);
  if (model != nullptr) return LoadedByLlama(model, &llama_model_free);
  return Error{ErrorKind::kUnavailable,
               fmt::format("{}: libllama cannot load this model: {} ({})", path,
                           load_failure(reason), LlamaLibrary::version())};
}

Result<void> check_vocabulary(const llama_model* model, const std::string& path) {
  if (llama_vocab_type(llama_model_get_vocab(model)) != LLAMA_VOCAB_TYPE_NONE) return {};
  return Error{ErrorKind::kUnavailable,
               fmt::format("{}: the file has no vocabulary, so no text can be given to this {} "
                           "model; convert it again with its tokeniser",
                           path, metadata(model, "general.architecture"))};
}

Result<LoadedByLlama> load_without_weights(LlamaLibrary& library, const std::string& path) {
  if (Result<void> usable = check_file(path); !usable) return usable.error();
  llama_model_params params = llama_model_default_params();
  params.vocab_only = true;
  return load_guarded(library, path,
                      [&] { return llama_model_load_from_file(path.c_str(), params); });
}

std::map<std::string, std::string> named_chat_templates(const llama_model* model) {
  constexpr std::string_view kPrefix = "tokenizer.chat_template.";
  std::map<std::string, std::string> templates;
  for (int32_t i = 0; i < llama_model_meta_count(model); ++i) {
    std::array<char, 256> buffer{};
    llama_model_meta_key_by_index(model, i, buffer.data(), buffer.size());
    const std::string key(buffer.data());
    if (key.starts_with(kPrefix)) templates[key.substr(kPrefix.size())] = metadata(model, key);
  }
  return templates;
}

// Kinds of models that Windrow does not run.
Result<void> check_kind(const llama_model* model, const std::string& path) {
  const std::string architecture = metadata(model, "general.architecture");
  if (Result<void> usable = check_vocabulary(model, path); !usable) return usable;
  if (llama_model_has_encoder(model) && llama_model_has_decoder(model)) {
    return Error{
        ErrorKind::kUnavailable,
        fmt::format("{}: {} is an encoder-decoder model, which Windrow does not run; use a "
                    "decoder-only one",
                    path, architecture)};
  }
#if WINDROW_HAVE_LLAMA_MODEL_IS_DIFFUSION
  if (llama_model_is_diffusion(model)) {
    return Error{ErrorKind::kUnavailable,
                 fmt::format("{}: {} is a diffusion model, which Windrow does not run; use an "
                             "autoregressive one",
                             path, architecture)};
  }
#endif
  return {};
}

#if WINDROW_HAVE_NO_ALLOC && WINDROW_HAVE_LOAD_MODE
// The smallest that every kind of model has.
llama_context_params rehearsal_params(const ModelFacts& facts) {
  constexpr uint32_t kTokens = 256;
  llama_context_params params = llama_context_default_params();
  params.n_ctx = kTokens;
  params.n_batch = kTokens;
  params.n_ubatch = kTokens;
  params.n_threads = 1;
  params.n_threads_batch = 1;
  params.no_perf = true;
  params.embeddings = facts.encoder_only || !facts.pooling.empty();
  return params;
}
#endif

llama_split_mode llama_split_of(SplitMode mode) {
  switch (mode) {
    case SplitMode::kNone:
      return LLAMA_SPLIT_MODE_NONE;
    case SplitMode::kLayer:
      return LLAMA_SPLIT_MODE_LAYER;
    case SplitMode::kRow:
      return LLAMA_SPLIT_MODE_ROW;
  }
  return LLAMA_SPLIT_MODE_LAYER;
}

// The same indices as in LlamaLibrary::devices().
std::vector<ggml_backend_dev_t> devices_at(const std::vector<size_t>& indices) {
  std::vector<ggml_backend_dev_t> devices;
  for (const size_t index : indices)
    devices.push_back(ggml_backend_dev_get(index));
  return devices;
}

// Weights in the layout of a CPU's matrix units are faster, but with libggml's AMX kernels a model
// with recurrent state is silently wrong, or ends the process, as soon as two sequences bring
// equally many tokens: they compute the first and leave the others as they find them (libggml
// 0.27, tests/facts/README.md). The vocabulary alone tells which models these are.
llama_model* load_weights(const std::string& path, llama_model_params params) {
#if WINDROW_HAVE_USE_EXTRA_BUFTS
  llama_model_params vocabulary_params = llama_model_default_params();
  vocabulary_params.vocab_only = true;
  llama_model* vocabulary = llama_model_load_from_file(path.c_str(), vocabulary_params);
  if (vocabulary == nullptr) return nullptr;
  params.use_extra_bufts =
      !llama_model_is_recurrent(vocabulary) && !llama_model_is_hybrid(vocabulary);
  llama_model_free(vocabulary);
#endif
  return llama_model_load_from_file(path.c_str(), params);
}

}  // namespace

Result<std::unique_ptr<LlamaModel>> LlamaModel::load(LlamaLibrary& library, const std::string& path,
                                                     const LlamaModelOptions& options) {
  if (Result<void> usable = check_file(path); !usable) return usable.error();
  const Result<ChosenDevices> chosen = choose_devices(library.devices(), options.devices);
  if (!chosen) return chosen.error();
  llama_model_params params = llama_model_default_params();
  params.n_gpu_layers = options.devices.gpu_layers;
  params.split_mode = llama_split_of(options.devices.split);
  std::vector<ggml_backend_dev_t> named = devices_at(chosen->named);
  named.push_back(nullptr);
  if (!chosen->all) params.devices = named.data();
  std::vector<float> shares = chosen->shares;
  shares.resize(std::max(shares.size(), llama_max_devices()), 0);  // it reads so many
  if (!chosen->shares.empty()) params.tensor_split = shares.data();
  std::stop_token unwanted = options.unwanted;
  // Called now and then while weights are read; the model is given up when it says no.
  params.progress_callback = [](float, void* unwanted) {
    return !static_cast<const std::stop_token*>(unwanted)->stop_requested();
  };
  params.progress_callback_user_data = &unwanted;
  // Weights are laid out by several threads, and the OpenMP runtime keeps those for the thread that
  // asked, as long as that lives. With the engine thread's own there would be more than cores, and
  // every pass would have the short spin (spin_control.h): 1.4 times as long for one row.
  std::optional<Result<LoadedByLlama>> loaded;
  std::jthread([&] {
    loaded = load_guarded(library, path, [&] { return load_weights(path, params); });
  }).join();
  if (!*loaded && options.unwanted.stop_requested()) {
    return Error{ErrorKind::kUnavailable, fmt::format("{}: not wanted any more", path)};
  }
  if (!*loaded) return loaded->error();
  if (Result<void> usable = check_kind((*loaded)->get(), path); !usable) return usable.error();
  llama_model* raw = (*loaded)->release();
  std::unique_ptr<LlamaModel> model(new LlamaModel(
      library, path, raw, HostingDevices(devices_at(chosen->holders), chosen->shares)));
  Result<LlamaAdapters> adapters = LlamaAdapters::load(library, *raw, options.adapters);
  if (!adapters) return adapters.error();
  model->adapters_ = *std::move(adapters);
  return model;
}

Result<ModelFacts> LlamaModel::read_header(LlamaLibrary& library, const std::string& path) {
  const Result<LoadedByLlama> model = load_without_weights(library, path);
  if (!model) return model.error();
  return read_header_facts(model->get());
}

Result<LoadedVocabulary> LlamaModel::load_vocabulary(LlamaLibrary& library,
                                                     const std::string& path) {
  struct Kept {
    explicit Kept(LoadedByLlama loaded)
        : model(std::move(loaded)), vocabulary(llama_model_get_vocab(model.get())) {}

    const LoadedByLlama model;
    const LlamaVocabulary vocabulary;
  };
  Result<LoadedByLlama> model = load_without_weights(library, path);
  if (!model) return model.error();
  if (Result<void> usable = check_vocabulary(model->get(), path); !usable) return usable.error();
  const auto kept = std::make_shared<const Kept>(*std::move(model));
  return LoadedVocabulary{.vocabulary = {kept, &kept->vocabulary},
                          .facts = read_header_facts(kept->model.get()),
                          .named_chat_templates = named_chat_templates(kept->model.get())};
}

Result<void> LlamaModel::rehearse(LlamaLibrary& library, const std::string& path) {
  if (Result<void> usable = check_file(path); !usable) return usable;
#if WINDROW_HAVE_NO_ALLOC && WINDROW_HAVE_LOAD_MODE
  llama_model_params params = llama_model_default_params();
  params.n_gpu_layers = 0;
  params.no_alloc = true;
  params.load_mode = LLAMA_LOAD_MODE_NONE;
  const Result<LoadedByLlama> model =
      load_guarded(library, path, [&] { return llama_model_load_from_file(path.c_str(), params); });
  if (!model) return model.error();
  if (Result<void> usable = check_kind(model->get(), path); !usable) return usable;
  llama_context* context = nullptr;
  std::optional<std::string> aborted;
  const std::string reason = library.reason_of_failure([&] {
    aborted = guard_against_abort(path, [&] {
      context = llama_init_from_model(model->get(), rehearsal_params(read_facts(model->get())));
    });
  });
  if (context != nullptr) llama_free(context);
  if (aborted) return abort_error("make a context for this model", *aborted).in(path);
  if (context == nullptr) {
    return Error{ErrorKind::kUnavailable,
                 fmt::format("{}: libllama cannot make a context for this model: {} ({})", path,
                             reason, LlamaLibrary::version())};
  }
#endif
  return {};
}

LlamaModel::LlamaModel(LlamaLibrary& library, std::string path, llama_model* model,
                       HostingDevices devices)
    : library_(library),
      path_(std::move(path)),
      model_(model),
      devices_(std::move(devices)),
      vocabulary_(std::make_unique<LlamaVocabulary>(llama_model_get_vocab(model))),
      facts_(read_facts(model)) {}

LlamaModel::~LlamaModel() {
  llama_model_free(model_);
}

Result<std::unique_ptr<ModelRunner>> LlamaModel::make_runner(
    const LlamaRunnerOptions& options) const {
  if (facts_.encoder_only) {
    return Error{ErrorKind::kUnavailable,
                 fmt::format("{} is an encoder (an embedding model): it cannot generate text, and "
                             "this version answers only chat and completions",
                             facts_.architecture)};
  }
  return LlamaRunner::make(library_, *model_, devices_, adapters_, path_, facts_, options);
}

Result<std::unique_ptr<EmbeddingRunner>> LlamaModel::make_embedding_runner(
    const LlamaEmbeddingOptions& options) const {
  return LlamaEmbeddingRunner::make(library_, *model_, devices_, adapters_, path_, facts_, options);
}

PairFormat LlamaModel::pair_format() const {
  PairFormat format;
  const char* pair_template = llama_model_chat_template(model_, "rerank");
  if (pair_template != nullptr) format.pair_template = pair_template;
  const llama_vocab* vocab = llama_model_get_vocab(model_);
  const auto token = [](bool wanted, llama_token id) {
    return wanted && id >= 0 ? std::optional<Token>(id) : std::nullopt;
  };
  const llama_token separator = llama_vocab_sep(vocab);
  const llama_token end = llama_vocab_eos(vocab);
  format.begin = token(llama_vocab_get_add_bos(vocab), llama_vocab_bos(vocab));
  // Where texts end by a separator, the vocabulary may have no other end.
  format.end = token(llama_vocab_get_add_eos(vocab), end >= 0 ? end : separator);
  format.separator = token(llama_vocab_get_add_sep(vocab), separator);
  return format;
}

std::optional<std::string> LlamaModel::named_chat_template(const std::string& name) const {
  // libllama falls back to the default for names it does not find.
  if (metadata(model_, "tokenizer.chat_template." + name).empty()) return std::nullopt;
  const char* text = llama_model_chat_template(model_, name.c_str());
  return text == nullptr ? std::nullopt : std::optional<std::string>(text);
}

}  // namespace windrow::engine
