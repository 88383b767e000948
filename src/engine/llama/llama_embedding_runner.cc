#include "engine/llama/llama_embedding_runner.h"

#include <fmt/format.h>
#include <gguf.h>
#include <llama.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

#include "base/ensure.h"
#include "base/format.h"
#include "engine/host/cpu_count.h"
#include "engine/llama/abort_guard.h"
#include "engine/llama/llama_context_setup.h"
#include "engine/llama/memory_plan.h"

namespace windrow::engine {
namespace {

// libllama keeps a state for each sequence of a model that has one; of these passes few pay.
constexpr int32_t kInputsMax = 256;
constexpr int32_t kRecurrentInputsMax = 16;
static_assert(kInputsMax % kRecurrentInputsMax == 0);

enum llama_pooling_type llama_pooling_of(Pooling pooling) {
  switch (pooling) {
    case Pooling::kMean:
      return LLAMA_POOLING_TYPE_MEAN;
    case Pooling::kCls:
      return LLAMA_POOLING_TYPE_CLS;
    case Pooling::kLast:
      return LLAMA_POOLING_TYPE_LAST;
    case Pooling::kRank:
      return LLAMA_POOLING_TYPE_RANK;
  }
  return LLAMA_POOLING_TYPE_MEAN;
}

bool file_has_head(const std::string& path) {
  gguf_context* file = gguf_init_from_file(path.c_str(), {.no_alloc = true, .ctx = nullptr});
  if (file == nullptr) return false;
  const bool has_head =
      gguf_find_tensor(file, "cls.weight") >= 0 || gguf_find_tensor(file, "cls.output.weight") >= 0;
  gguf_free(file);
  return has_head;
}

// libllama pools without a head too, and calls the first number of the vector a score. A model in
// several files has its head in any of them.
bool has_head(const llama_model& model, const std::string& path) {
  if (file_has_head(path)) return true;
  std::array<char, 16> text{};
  if (llama_model_meta_val_str(&model, "split.count", text.data(), text.size()) < 0) return false;
  const std::string_view digits(text.data());
  int32_t files = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), files);
  std::array<char, 4096> prefix{};
  if (llama_split_prefix(prefix.data(), prefix.size(), path.c_str(), 0, files) <= 0) return false;
  for (int32_t i = 1; i < files; ++i) {
    std::array<char, 4096> part{};
    llama_split_path(part.data(), part.size(), prefix.data(), i, files);
    if (file_has_head(part.data())) return true;
  }
  return false;
}

llama_context_params embedding_context_params(const EmbeddingSizes& sizes, const ModelFacts& facts,
                                              Pooling pooling,
                                              const LlamaEmbeddingOptions& options) {
  const int32_t threads = options.threads != 0 ? options.threads : usable_cores();
  llama_context_params params = llama_context_default_params();
  params.embeddings = true;
  params.pooling_type = llama_pooling_of(pooling);
  params.n_ctx = static_cast<uint32_t>(std::max(sizes.batch_tokens, sizes.input_tokens));
  params.n_batch = static_cast<uint32_t>(sizes.batch_tokens);
  params.n_ubatch = params.n_batch;
  params.n_seq_max =
      static_cast<uint32_t>(facts.recurrent || facts.hybrid ? kRecurrentInputsMax : kInputsMax);
  params.n_threads = threads;
  params.n_threads_batch = threads;
  params.type_k = ggml_type_of(options.kv_type);
  params.type_v = ggml_type_of(options.kv_type);
  params.flash_attn_type = flash_attention_of(options.flash_attention);
  params.no_perf = true;
  // All inputs of a pass in one graph run, however long each is.
  params.kv_unified = true;
  params.swa_full = false;
  return params;
}

Result<void> check_embedding_options(const llama_model& model, const std::string& path,
                                     const ModelFacts& facts, Pooling pooling,
                                     const LlamaEmbeddingOptions& options) {
  if (options.input_tokens_max < 0 || options.input_tokens_max > facts.context_trained) {
    return Error{ErrorKind::kInvalid,
                 fmt::format("inputs of {} tokens were asked for; {} was trained for {}",
                             options.input_tokens_max, facts.architecture, facts.context_trained)};
  }
  if (pooling == Pooling::kRank && !has_head(model, path)) {
    return Error{ErrorKind::kInvalid,
                 fmt::format("{}: this {} model has no classification head, so it cannot score "
                             "documents (rank pooling); use a reranking model, or --pooling mean "
                             "for embeddings",
                             path, facts.architecture)};
  }
  return {};
}

}  // namespace

struct LlamaEmbeddingRunner::Batch {
  explicit Batch(int32_t tokens_max) : batch(llama_batch_init(tokens_max, 0, 1)) {}
  ~Batch() { llama_batch_free(batch); }
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;

  // Every token is an output: pooling is over those.
  void add(std::span<const Token> tokens, Position first, int32_t sequence) {
    for (const Token token : tokens) {
      const int32_t i = batch.n_tokens++;
      batch.token[i] = token;
      batch.pos[i] = first++;
      batch.n_seq_id[i] = 1;
      batch.seq_id[i][0] = sequence;
      batch.logits[i] = 1;
    }
  }

  llama_batch batch;
};

Result<std::unique_ptr<EmbeddingRunner>> LlamaEmbeddingRunner::make(
    LlamaLibrary& library, llama_model& model, const HostingDevices& devices,
    const LlamaAdapters& adapters, const std::string& path, const ModelFacts& facts,
    const LlamaEmbeddingOptions& options) {
  const Pooling pooling =
      options.pooling.value_or(parse_pooling(facts.pooling).value_or(Pooling::kMean));
  if (Result<void> usable = check_embedding_options(model, path, facts, pooling, options); !usable)
    return usable.error();
  const EmbeddingSizes sizes = embedding_sizes(
      facts, pooling, options, usable_bytes(devices.free_bytes(), options.memory_bytes));
  const llama_context_params params = embedding_context_params(sizes, facts, pooling, options);
  llama_context* context = nullptr;
  std::optional<std::string> aborted;
  const std::string reason = library.reason_of_failure([&] {
    aborted = guard_against_abort(path, [&] { context = llama_init_from_model(&model, params); });
  });
  if (aborted) return abort_error("make a context for this model", *aborted);
  if (context == nullptr) {
    return Error{ErrorKind::kUnavailable,
                 fmt::format("libllama cannot make a context for embeddings of {} tokens a pass: "
                             "{}; another --kv-type or a smaller model need less memory",
                             sizes.batch_tokens, reason)};
  }
  if (Result<void> applied = adapters.apply_to(*context); !applied) {
    llama_free(context);
    return applied.error();
  }
  if (Result<void> ran = trial_step(*context, params.n_threads, path); !ran) {
    llama_free(context);
    return ran.error();
  }
  const bool rank = pooling == Pooling::kRank;
  EmbeddingLimits limits{
      .batch_tokens_max =
          static_cast<int32_t>(std::min(llama_n_batch(context), llama_n_ubatch(context))),
      .inputs_max = static_cast<int32_t>(llama_n_seq_max(context)),
      .input_tokens_max = sizes.input_tokens,
      .vocabulary_size = facts.vocabulary_size,
      .pooling = pooling,
      .can_chunk = pooling == Pooling::kLast && llama_get_memory(context) != nullptr};
  if (!limits.can_chunk)
    limits.input_tokens_max = std::min(limits.input_tokens_max, limits.batch_tokens_max);
  if (rank) {
    limits.scores = static_cast<int32_t>(llama_model_n_cls_out(&model));
  } else {
#if WINDROW_HAVE_LLAMA_MODEL_N_EMBD_OUT
    limits.dimensions = llama_model_n_embd_out(&model);
#else
    limits.dimensions = llama_model_n_embd(&model);
#endif
  }
  return std::unique_ptr<EmbeddingRunner>(new LlamaEmbeddingRunner(library, context, path, limits));
}

LlamaEmbeddingRunner::LlamaEmbeddingRunner(LlamaLibrary& library, llama_context* context,
                                           const std::string& path, const EmbeddingLimits& limits)
    : library_(library),
      context_(context),
      path_(path),
      limits_(limits),
      batch_(std::make_unique<Batch>(limits.batch_tokens_max)) {}

LlamaEmbeddingRunner::~LlamaEmbeddingRunner() {
  llama_free(context_);
}

void LlamaEmbeddingRunner::check(std::span<const std::span<const Token>> inputs) const {
  ENSURE(!inputs.empty() && inputs.size() <= static_cast<size_t>(limits_.inputs_max),
         "a pass has {} inputs of {}", inputs.size(), limits_.inputs_max);
  size_t tokens = 0;
  for (const std::span<const Token>& input : inputs) {
    ENSURE(!input.empty() && input.size() <= static_cast<size_t>(limits_.input_tokens_max),
           "an input has {} tokens of {}", input.size(), limits_.input_tokens_max);
    for (const Token token : input) {
      ENSURE(token >= 0 && token < limits_.vocabulary_size, "there is no token {}", token);
    }
    tokens += input.size();
  }
  const bool in_pieces = limits_.can_chunk && inputs.size() == 1;
  ENSURE(in_pieces || tokens <= static_cast<size_t>(limits_.batch_tokens_max),
         "a pass has {} tokens of {}", tokens, limits_.batch_tokens_max);
}

Result<void> LlamaEmbeddingRunner::run(std::span<const std::span<const Token>> inputs) {
  check(inputs);
  inputs_ = 0;
  llama_memory_t memory = llama_get_memory(context_);
  if (memory != nullptr) llama_memory_clear(memory, /*data=*/false);
  batch_->batch.n_tokens = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    std::span<const Token> rest = inputs[i];
    const auto piece_max = static_cast<size_t>(limits_.batch_tokens_max);
    Position first = 0;
    while (rest.size() > piece_max) {  // alone in its pass, as check saw
      batch_->add(rest.first(piece_max), first, 0);
      if (Result<void> ran = run_batch(); !ran) return ran;
      first += limits_.batch_tokens_max;
      rest = rest.subspan(piece_max);
      batch_->batch.n_tokens = 0;
    }
    batch_->add(rest, first, static_cast<int32_t>(i));
  }
  if (Result<void> ran = run_batch(); !ran) return ran;
  inputs_ = inputs.size();
  return {};
}

Result<void> LlamaEmbeddingRunner::run_batch() {
  const bool encodes = llama_get_memory(context_) == nullptr;
  const ModelInUse in_use(path_);
  const int32_t code = library_.spins().timed([&] {
    return encodes ? llama_encode(context_, batch_->batch) : llama_decode(context_, batch_->batch);
  });
  if (code == 0) return {};
  return Error{ErrorKind::kInvalid, fmt::format("libllama could not compute {} tokens (code {})",
                                                batch_->batch.n_tokens, code)};
}

std::span<const float> LlamaEmbeddingRunner::embedding(size_t index) const {
  ENSURE(index < inputs_, "input {} was asked for, the pass had {}", index, inputs_);
  const float* numbers = llama_get_embeddings_seq(context_, static_cast<int32_t>(index));
  ENSURE(numbers != nullptr, "libllama has no vector for input {}", index);
  return {numbers, static_cast<size_t>(width(limits_))};
}

}  // namespace windrow::engine
