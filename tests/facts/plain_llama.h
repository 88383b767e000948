// libllama with owners and little else: the facts are about the library, so nothing of Windrow's
// engine may stand between.
#pragma once

#include <gtest/gtest.h>
#include <llama.h>

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace windrow::facts {

struct ModelFree {
  void operator()(llama_model* model) const { llama_model_free(model); }
};
struct ContextFree {
  void operator()(llama_context* context) const { llama_free(context); }
};
struct SamplerFree {
  void operator()(llama_sampler* sampler) const { llama_sampler_free(sampler); }
};
using Model = std::unique_ptr<llama_model, ModelFree>;
using Context = std::unique_ptr<llama_context, ContextFree>;
using Sampler = std::unique_ptr<llama_sampler, SamplerFree>;

inline constexpr int kVocab = 512;  // tokens of every test model

// Families that generate text, by the name of their files.
inline constexpr std::string_view kGenerating[] = {"llama", "qwen3", "moe", "hybrid", "swa"};

std::string model_path(std::string_view family, std::string_view type = "f32");

// Loads the CPU plug-ins once, then the model; a test model always loads.
Model load_model(std::string_view family, std::string_view type = "f32");

// Null when libllama refuses the file.
Model load_file(const std::string& path);

// The settings of the engine's exact mode: F32 KV cache, no flash attention, a unified cache. One
// thread: models are tiny, and two threads that spin for each other crawl on a busy machine.
llama_context_params exact_params(uint32_t context_tokens, uint32_t sequences = 1);

Context make_context(const Model& model, const llama_context_params& params);

// A llama_batch that grows.
class Batch {
 public:
  Batch& add(llama_token token, llama_pos position, llama_seq_id sequence, bool wants_logits);
  Batch& add(llama_token token, llama_pos position, std::vector<llama_seq_id> sequences,
             bool wants_logits);
  // `tokens` at positions from `first` on; logits of the last only.
  Batch& add_run(const std::vector<llama_token>& tokens, llama_pos first, llama_seq_id sequence);
  Batch& clear();

  int32_t size() const { return static_cast<int32_t>(tokens_.size()); }

  // Valid until the next change.
  llama_batch view();

 private:
  std::vector<llama_token> tokens_;
  std::vector<llama_pos> positions_;
  std::vector<std::vector<llama_seq_id>> sequences_;
  std::vector<int8_t> wants_logits_;
  std::vector<int32_t> sequence_counts_;
  std::vector<llama_seq_id*> sequence_pointers_;
};

// Ordinary tokens, the same for the same seed.
std::vector<llama_token> some_tokens(int count, uint64_t seed);

int32_t decode(const Context& context, Batch& batch);

// A copy of the logits of the batch's token `index` (-1: the last with logits).
std::vector<float> logits_of(const Context& context, int32_t index = -1);

llama_token greedy(const std::vector<float>& logits);
std::vector<double> log_probabilities(const std::vector<float>& logits);

// Of the log probabilities of tokens with a probability of at least 0.001 in `a`: the others do not
// matter, and the same rounding shows more in them.
double largest_difference(const std::vector<double>& a, const std::vector<double>& b);

// Log probabilities after `tokens` in a context of their own.
std::vector<double> alone(const Model& model, const std::vector<llama_token>& tokens,
                          uint32_t context_tokens = 512);

llama_memory_t memory_of(const Context& context);

// Counts how often libllama runs the graph of a model, by the name of its last norm, and how many
// cells its attention read the last time (without flash attention).
class GraphRuns {
 public:
  void watch(llama_context_params& params);
  // Since the last call.
  int take() { return std::exchange(runs_, 0); }
  int64_t cells_read() const { return cells_read_; }

 private:
  static bool on_tensor(ggml_tensor* tensor, bool ask, void* self);
  int runs_ = 0;
  int64_t cells_read_ = 0;
};

// Expects that `statement` kills the process by an assert whose text matches `pattern`. The
// statement runs in a process started anew, because threads of libllama do not survive a fork.
#define EXPECT_LLAMA_ABORT(statement, pattern)                           \
  do {                                                                   \
    GTEST_FLAG_SET(death_test_style, "threadsafe");                      \
    EXPECT_EXIT(statement, ::testing::KilledBySignal(SIGABRT), pattern); \
  } while (false)

// Expects that `statement` ends the process with exit code 0, having written what matches
// `pattern` to the standard error output.
#define EXPECT_CLEAN_EXIT(statement, pattern)                      \
  do {                                                             \
    GTEST_FLAG_SET(death_test_style, "threadsafe");                \
    EXPECT_EXIT(statement, ::testing::ExitedWithCode(0), pattern); \
  } while (false)

}  // namespace windrow::facts
