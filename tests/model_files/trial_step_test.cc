// The first pass of contexts whose models were loaded in spite of their headers.
#include "engine/llama/llama_context_setup.h"

#include <gtest/gtest.h>
#include <llama.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>

#include "engine/llama/llama_library.h"
#include "model_files/gguf_bytes.h"

namespace windrow::model_files {
namespace {

using Model = std::unique_ptr<llama_model, decltype(&llama_model_free)>;
using Context = std::unique_ptr<llama_context, decltype(&llama_free)>;

constexpr int32_t kThreads = 2;

class TrialStep : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    Result<std::unique_ptr<engine::LlamaLibrary>> library = engine::LlamaLibrary::start("");
    ASSERT_TRUE(library.has_value());
    library_ = *std::move(library);
  }
  static void TearDownTestSuite() { library_.reset(); }

  ~TrialStep() override {
    context_.reset();
    model_.reset();
    std::filesystem::remove(path_);
  }

  // A context of this file as it is, with as many threads as a pass may have.
  llama_context& open(const GgufBytes& file, bool embeds = false) {
    file.write(path_);
    llama_model_params model_params = llama_model_default_params();
    model_params.n_gpu_layers = 0;
    context_.reset();
    model_.reset(llama_model_load_from_file(path_.c_str(), model_params));
    EXPECT_NE(model_, nullptr);
    llama_context_params params = llama_context_default_params();
    params.n_ctx = 256;
    params.n_batch = 64;
    params.n_ubatch = 64;
    params.n_threads = kThreads;
    params.n_threads_batch = kThreads;
    params.embeddings = embeds;
    context_.reset(llama_init_from_model(model_.get(), params));
    EXPECT_NE(context_, nullptr);
    return *context_;
  }

  static GgufBytes file(const std::string& family) {
    return GgufBytes(WINDROW_TEST_MODELS_DIR "/" + family + "-f32.gguf");
  }

  static inline std::unique_ptr<engine::LlamaLibrary> library_;
  const std::string path_ = ::testing::TempDir() + "trial-" + std::to_string(getpid()) + ".gguf";
  Model model_{nullptr, &llama_model_free};
  Context context_{nullptr, &llama_free};
};

TEST_F(TrialStep, OfAGoodModelLeavesItsMemoryEmptyAndItsThreadsAsTheyWere) {
  for (const char* family : {"llama", "qwen3", "moe", "hybrid", "swa", "bert"}) {
    SCOPED_TRACE(family);
    llama_context& context = open(file(family), std::string(family) == "bert");
    const Result<void> ran = engine::trial_step(context, kThreads, path_);
    EXPECT_TRUE(ran.has_value()) << ran.error().message;
    EXPECT_EQ(llama_n_threads(&context), kThreads);
    EXPECT_EQ(llama_n_threads_batch(&context), kThreads);
    if (llama_memory_t memory = llama_get_memory(&context); memory != nullptr)
      EXPECT_EQ(llama_memory_seq_pos_max(memory, 0), -1);
  }
}

TEST_F(TrialStep, RefusesAModelThatComputesNoNumbers) {
  GgufBytes absurd = file("llama");
  absurd.set("rope.freq_base", 0.0F);
  const Result<void> ran = engine::trial_step(open(absurd), kThreads, path_);
  ASSERT_FALSE(ran.has_value());
  EXPECT_NE(ran.error().message.find("computes NaN"), std::string::npos) << ran.error().message;
}

// In a process of its own: libggml does not free what the pass had in hand (some hundred bytes).
TEST_F(TrialStep, TurnsAnAssertionOfAPassIntoAnError) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto try_and_exit = [&](const GgufBytes& absurd) {
    const Result<void> ran = engine::trial_step(open(absurd), kThreads, path_);
    context_.reset();
    model_.reset();
    std::filesystem::remove(path_);
    if (ran) std::_Exit(1);
    std::cerr << ran.error().message << std::endl;
    std::_Exit(0);
  };
  GgufBytes odd = file("hybrid");
  odd.set("rope.dimension_count", 31U);
  EXPECT_EXIT(try_and_exit(odd), ::testing::ExitedWithCode(0),
              "libllama cannot compute with this model: .*n_dims % 2 == 0.*convert it again");
  GgufBytes negative = file("llama");
  negative.set("attention.layer_norm_rms_epsilon", -1.0F);
  EXPECT_EXIT(try_and_exit(negative), ::testing::ExitedWithCode(0), "eps >= 0");
}

}  // namespace
}  // namespace windrow::model_files
