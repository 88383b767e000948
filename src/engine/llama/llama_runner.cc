#include "engine/llama/llama_runner.h"

#include <fmt/format.h>
#include <llama.h>

#include <algorithm>

#include "base/ensure.h"
#include "base/format.h"
#include "engine/host/cpu_count.h"
#include "engine/llama/abort_guard.h"
#include "engine/llama/llama_context_setup.h"
#include "engine/llama/memory_plan.h"

namespace windrow::engine {
namespace {

// Tokens of one graph run; a larger step is cut into such pieces by libllama.
constexpr int32_t kUbatchTokensMax = 512;

// Prefixes that can be kept beside the rows.
constexpr int32_t kPrefixesMin = 32;

// What may be copied aside to move the cells together. Where they lie on a device of its own that
// would go through its bus twice, and a step reads them too fast for that to pay.
constexpr double kCompactBytesMax = 1 << 29;

Result<void> check_options(const LlamaRunnerOptions& options) {
  const auto sequences_limit = static_cast<int32_t>(llama_max_parallel_sequences());
  if (options.rows_max < 1 || options.rows_max > sequences_limit) {
    return Error{ErrorKind::kInvalid,
                 fmt::format("--rows-max is {}; libllama can tell 1 to {} rows apart",
                             options.rows_max, sequences_limit)};
  }
  if (options.step_tokens_max < options.rows_max) {
    return Error{
        ErrorKind::kInvalid,
        fmt::format("--batch-tokens is {}, but --rows-max {} rows need a token each; raise "
                    "the one or lower the other",
                    options.step_tokens_max, options.rows_max)};
  }
  return {};
}

// The system would not refuse more memory than there is; it would end the process while that is
// filled. Only where a cell's size is known well: for hybrids and sliding windows it is a bound.
Result<void> check_memory(const ModelFacts& facts, const LlamaRunnerOptions& options,
                          uint64_t free_bytes) {
  if (options.cells_max == 0 || facts.sharing != Sharing::kAnyRange) return {};
  const double bytes = cell_bytes(facts, options.kv_type) * options.cells_max;
  if (bytes <= static_cast<double>(free_bytes)) return {};
  return Error{ErrorKind::kInvalid,
               fmt::format("--ctx {} needs {} of memory in {}, and {} are free; a smaller --ctx or "
                           "another --kv-type need less",
                           options.cells_max, human_bytes(static_cast<uint64_t>(bytes)),
                           to_string(options.kv_type), human_bytes(free_bytes))};
}

Sharing runner_sharing(const ModelFacts& facts, const LlamaRunnerOptions& options) {
  // A part of a sequence shared in a split cache ends the process.
  return options.share && options.kv_cache == KvCache::kUnified ? facts.sharing : Sharing::kNothing;
}

// Beside those of the rows, ids for prefixes that no row has at the moment. An attention cache
// gives them for nothing; where each has a state or a window of its own, they take memory.
int32_t prefixes_max(Sharing sharing, int32_t rows_max) {
  switch (sharing) {
    case Sharing::kAnyRange:
      return std::max(rows_max, kPrefixesMin);
    case Sharing::kExactEnd:
      return std::max(rows_max / 2, kPrefixesMin / 8);
    case Sharing::kNothing:
      return 0;
  }
  return 0;
}

// A context of fewer cells, or with smaller steps, than sequences kills the process.
int32_t sequences_max(const ModelFacts& facts, const LlamaRunnerOptions& options) {
  return std::min(
      {options.rows_max + prefixes_max(runner_sharing(facts, options), options.rows_max),
       static_cast<int32_t>(llama_max_parallel_sequences()), options.step_tokens_max,
       kCellsGranularity});
}

int32_t compact_cells_max(const HostingDevices& devices, const ModelFacts& facts,
                          const LlamaRunnerOptions& options) {
  if (!devices.is_cpu() || facts.sharing != Sharing::kAnyRange) return 0;
  if (options.kv_cache == KvCache::kSplit) return 0;
  return static_cast<int32_t>(std::min(kCompactBytesMax / cell_bytes(facts, options.kv_type), 1e9));
}

llama_context_params context_params(const ModelFacts& facts, const LlamaRunnerOptions& options,
                                    uint64_t free_bytes) {
  const int32_t cells = cells_of(facts, options, usable_bytes(free_bytes, options.memory_bytes));
  const int32_t threads = options.threads != 0 ? options.threads : usable_cores();
  llama_context_params params = llama_context_default_params();
  params.n_ctx = static_cast<uint32_t>(whole_cells(cells));
  params.n_seq_max = static_cast<uint32_t>(sequences_max(facts, options));
  params.n_batch = static_cast<uint32_t>(options.step_tokens_max);
  params.n_ubatch = static_cast<uint32_t>(std::min(options.step_tokens_max, kUbatchTokensMax));
  params.n_threads = threads;
  params.n_threads_batch = threads;
  params.type_k = ggml_type_of(options.kv_type);
  params.type_v = ggml_type_of(options.kv_type);
  params.flash_attn_type = flash_attention_of(options.flash_attention);
  params.no_perf = true;
  // One cache for all rows: mixed steps in one graph run, and prefixes can be shared.
  params.kv_unified = options.kv_cache == KvCache::kUnified;
  // A window's cells are recycled as it moves; the price is that only the end can be shared.
  params.swa_full = false;
#if WINDROW_HAVE_N_OUTPUTS_MAX
  // The default reserves logits for every token of a step: 313 MB at a vocabulary of 152,000.
  // It may not be less than there are sequences; with a step of few tokens it would be.
  params.n_outputs_max = static_cast<uint32_t>(
      std::max(step_outputs_max(facts, options), sequences_max(facts, options)));
#endif
  return params;
}

}  // namespace

std::optional<KvType> parse_kv_type(std::string_view name) {
  for (const KvType type : {KvType::kF32, KvType::kF16, KvType::kBf16, KvType::kQ8_0, KvType::kQ5_1,
                            KvType::kQ5_0, KvType::kQ4_1, KvType::kQ4_0}) {
    if (to_string(type) == name) return type;
  }
  return std::nullopt;
}

std::string_view to_string(KvType type) {
  switch (type) {
    case KvType::kF32:
      return "f32";
    case KvType::kF16:
      return "f16";
    case KvType::kBf16:
      return "bf16";
    case KvType::kQ8_0:
      return "q8_0";
    case KvType::kQ5_1:
      return "q5_1";
    case KvType::kQ5_0:
      return "q5_0";
    case KvType::kQ4_1:
      return "q4_1";
    case KvType::kQ4_0:
      return "q4_0";
  }
  return "unknown";
}

struct LlamaRunner::Batch {
  explicit Batch(int32_t tokens_max) : batch(llama_batch_init(tokens_max, 0, 1)) {}
  ~Batch() { llama_batch_free(batch); }
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;

  void add(Token token, Position position, SequenceId sequence, bool wants_logits) {
    const int32_t i = batch.n_tokens++;
    batch.token[i] = token;
    batch.pos[i] = position;
    batch.n_seq_id[i] = 1;
    batch.seq_id[i][0] = sequence.value();
    batch.logits[i] = wants_logits ? 1 : 0;
  }

  llama_batch batch;
};

Result<std::unique_ptr<ModelRunner>> LlamaRunner::make(LlamaLibrary& library, llama_model& model,
                                                       const HostingDevices& devices,
                                                       const LlamaAdapters& adapters,
                                                       const std::string& path,
                                                       const ModelFacts& facts,
                                                       const LlamaRunnerOptions& options) {
  if (Result<void> usable = check_options(options); !usable) return usable.error();
  const uint64_t free_bytes = devices.free_bytes();
  if (Result<void> fits = check_memory(facts, options, free_bytes); !fits) return fits.error();
  const llama_context_params params = context_params(facts, options, free_bytes);
  llama_context* context = nullptr;
  std::optional<std::string> aborted;
  const std::string reason = library.reason_of_failure([&] {
    aborted = guard_against_abort(path, [&] { context = llama_init_from_model(&model, params); });
  });
  if (aborted) return abort_error("make a context for this model", *aborted);
  if (context == nullptr) {
    return Error{
        ErrorKind::kUnavailable,
        fmt::format("libllama cannot make a context of {} cells in {} for {} rows: {}; a "
                    "smaller --ctx, fewer --rows-max or another --kv-type need less memory",
                    params.n_ctx, to_string(options.kv_type), options.rows_max, reason)};
  }
  if (llama_get_memory(context) == nullptr) {
    // Decoding would be encoding, under other limits.
    llama_free(context);
    return Error{ErrorKind::kUnavailable,
                 fmt::format("{} keeps no memory of what came before (it is an encoder): it cannot "
                             "generate text; use a model that was trained to",
                             facts.architecture)};
  }
  if (Result<void> applied = adapters.apply_to(*context); !applied) {
    llama_free(context);
    return applied.error();
  }
  if (Result<void> ran = trial_step(*context, params.n_threads, path); !ran) {
    llama_free(context);
    return ran.error();
  }
  const auto cells = static_cast<int32_t>(llama_n_ctx(context));
  const RunnerLimits limits{
      .cells_max = cells,
      .rows_max = options.rows_max,
      .sequences_max = static_cast<int32_t>(llama_n_seq_max(context)),
      .step_tokens_max = static_cast<int32_t>(llama_n_batch(context)),
      .step_outputs_max = step_outputs_max(facts, options),
      .row_tokens_max = std::min(static_cast<int32_t>(llama_n_ctx_seq(context)),
                                 std::max(facts.context_trained, 1)),
      .row_tokens_trained = facts.context_trained,
      .vocabulary_size = facts.vocabulary_size,
      .sharing = runner_sharing(facts, options),
      .compact_cells_max = compact_cells_max(devices, facts, options),
      .mixes = options.kv_cache == KvCache::kUnified};
  return std::unique_ptr<ModelRunner>(new LlamaRunner(library, context, devices, path, limits));
}

LlamaRunner::LlamaRunner(LlamaLibrary& library, llama_context* context,
                         const HostingDevices& devices, const std::string& path,
                         const RunnerLimits& limits)
    : library_(library),
      context_(context),
      devices_(devices),
      path_(path),
      limits_(limits),
      batch_(std::make_unique<Batch>(limits.step_tokens_max)),
      ends_(static_cast<size_t>(limits.sequences_max), 0) {}

LlamaRunner::~LlamaRunner() {
  llama_free(context_);
}

Position& LlamaRunner::end_of(SequenceId sequence) {
  ENSURE(sequence.value() >= 0 && sequence.value() < limits_.sequences_max,
         "there is no sequence {}", sequence.value());
  return ends_[static_cast<size_t>(sequence.value())];
}

void LlamaRunner::change(const MemoryChange& change) {
  switch (change.kind) {
    case MemoryChange::Kind::kShare:
      share(change);
      return;
    case MemoryChange::Kind::kTruncate:
      cut(change);
      return;
    case MemoryChange::Kind::kCompact:
      compact();
      return;
  }
}

// A copy in name only: the cells get a further owner.
void LlamaRunner::share(const MemoryChange& change) {
  Position& end = end_of(change.sequence);
  const Position from_end = end_of(change.from);
  ENSURE(end == 0, "sequence {} is not empty", change.sequence.value());
  ENSURE(change.tokens > 0 && change.tokens <= from_end, "{} tokens of {} are shared",
         change.tokens, from_end);
  // A part of a recurrent state would be copied without a word, and be wrong.
  ENSURE(limits_.sharing == Sharing::kAnyRange ||
             (limits_.sharing == Sharing::kExactEnd && change.tokens == from_end),
         "{} of {} tokens cannot be shared", change.tokens, from_end);
  const llama_pos until = limits_.sharing == Sharing::kAnyRange ? change.tokens : -1;
  llama_memory_seq_cp(llama_get_memory(context_), change.from.value(), change.sequence.value(), -1,
                      until);
  end = change.tokens;
}

void LlamaRunner::cut(const MemoryChange& change) {
  Position& end = end_of(change.sequence);
  ENSURE(change.tokens == 0 || limits_.sharing == Sharing::kAnyRange,
         "the model cannot go back to {} tokens", change.tokens);
  // Of a whole sequence this succeeds with every kind of memory.
  const bool removed = llama_memory_seq_rm(llama_get_memory(context_), change.sequence.value(),
                                           change.tokens == 0 ? -1 : change.tokens, -1);
  ENSURE(removed, "libllama did not remove tokens of sequence {}", change.sequence.value());
  end = std::min(end, change.tokens);
}

// libllama moves no cells (it once could), but reads a saved state into the lowest ones, each with
// all the sequences it belongs to.
void LlamaRunner::compact() {
  std::vector<uint8_t> state(llama_state_get_size(context_));
  const size_t written = llama_state_get_data(context_, state.data(), state.size());
  // Without what was written nothing has changed yet; without what is read all is gone.
  if (written > 0) lost_ = llama_state_set_data(context_, state.data(), written) == 0;
}

void LlamaRunner::check(std::span<const StepRow> step) const {
  ENSURE(!step.empty(), "a step has no rows");
  size_t tokens = 0;
  int32_t outputs = 0;
  std::vector<bool> seen(static_cast<size_t>(limits_.sequences_max), false);
  for (const StepRow& row : step) {
    const int32_t id = row.sequence.value();
    ENSURE(id >= 0 && id < limits_.sequences_max, "there is no sequence {}", id);
    const auto sequence = static_cast<size_t>(id);
    ENSURE(!seen[sequence], "sequence {} is twice in a step", id);
    seen[sequence] = true;
    ENSURE(!row.tokens.empty(), "a row brings no tokens");
    ENSURE(row.first == ends_[sequence], "a row goes on at {}, but its sequence ends at {}",
           row.first, ends_[sequence]);
    ENSURE(row.first + static_cast<int32_t>(row.tokens.size()) <= limits_.row_tokens_max,
           "a row grows past {} tokens", limits_.row_tokens_max);
    for (const Token token : row.tokens) {
      ENSURE(token >= 0 && token < limits_.vocabulary_size, "there is no token {}", token);
    }
    tokens += row.tokens.size();
    ENSURE(row.outputs_count >= 0 && static_cast<size_t>(row.outputs_count) <= row.tokens.size(),
           "{} outputs of {} tokens", row.outputs_count, row.tokens.size());
    outputs += row.outputs_count;
  }
  ENSURE(tokens <= static_cast<size_t>(limits_.step_tokens_max), "a step has {} tokens of {}",
         tokens, limits_.step_tokens_max);
  ENSURE(outputs <= limits_.step_outputs_max, "a step has {} outputs of {}", outputs,
         limits_.step_outputs_max);
}

Result<void> LlamaRunner::run(std::span<const StepRow> step) {
  check(step);
  if (lost_) {
    return Error{ErrorKind::kUnavailable,
                 "libllama did not take back the state of its memory, so what ran is lost"};
  }
  batch_->batch.n_tokens = 0;
  output_indices_.clear();
  for (const StepRow& row : step) {
    const size_t outputs_from = row.tokens.size() - static_cast<size_t>(row.outputs_count);
    for (size_t i = 0; i < row.tokens.size(); ++i) {
      const bool wants_logits = i >= outputs_from;
      if (wants_logits) output_indices_.push_back(batch_->batch.n_tokens);
      batch_->add(row.tokens[i], row.first + static_cast<Position>(i), row.sequence, wants_logits);
    }
  }
  const ModelInUse in_use(path_);
  const int32_t code =
      library_.spins().timed([&] { return llama_decode(context_, batch_->batch); });
  if (code == 0) {
    for (const StepRow& row : step) {
      ends_[static_cast<size_t>(row.sequence.value())] += static_cast<Position>(row.tokens.size());
    }
    return {};
  }
  if (code == 1) {
    return Error{ErrorKind::kNoSpace,
                 fmt::format("the model's memory of {} cells has no room for {} more tokens; a "
                             "larger --ctx helps",
                             limits_.cells_max, batch_->batch.n_tokens)};
  }
  return Error{ErrorKind::kInvalid, fmt::format("libllama failed to compute {} tokens (code {})",
                                                batch_->batch.n_tokens, code)};
}

std::span<const float> LlamaRunner::logits(size_t index) const {
  ENSURE(index < output_indices_.size(), "output {} was asked for, the step had {}", index,
         output_indices_.size());
  const float* logits = llama_get_logits_ith(context_, output_indices_[index]);
  ENSURE(logits != nullptr, "libllama has no logits for output {}", index);
  return {logits, static_cast<size_t>(limits_.vocabulary_size)};
}

DeviceMemory LlamaRunner::device_memory() const {
  return devices_.memory();
}

}  // namespace windrow::engine
