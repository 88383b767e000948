// A LoRA adapter laid over a model is the model with the adapter's product added to its weights.
// Here that sum is really made, in a copy of the file, and run through plain libllama.
#include <ggml.h>
#include <gguf.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>

#include "base/random.h"
#include "base/testing/manual_clock.h"
#include "engine/generate/step_loop.h"
#include "engine/llama/llama_library.h"
#include "engine/llama/llama_model.h"
#include "exactness/plain_row.h"

namespace windrow::exactness {
namespace {

using engine::LlamaLibrary;
using engine::LlamaModel;

constexpr const char* kTensor = "blk.0.attn_q.weight";
constexpr int64_t kRank = 4;
constexpr float kAlpha = 8;

struct GgufFree {
  void operator()(gguf_context* context) const { gguf_free(context); }
};
struct GgmlFree {
  void operator()(ggml_context* context) const { ggml_free(context); }
};
using Gguf = std::unique_ptr<gguf_context, GgufFree>;
using Ggml = std::unique_ptr<ggml_context, GgmlFree>;

struct Factors {
  int64_t inputs = 0;
  int64_t outputs = 0;
  std::vector<float> a;  // kRank rows of `inputs`
  std::vector<float> b;  // `outputs` rows of kRank
};

class AdapterTest : public ::testing::Test {
 protected:
  void SetUp() override {
    // A folder for each process, because several may run at the same time.
    std::string made = ::testing::TempDir() + "/windrow-adapter-XXXXXX";
    ASSERT_NE(mkdtemp(made.data()), nullptr);
    folder_ = made;
    factors_ = draw_factors();
    write_adapter();
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  static LlamaLibrary& library() {
    static const std::unique_ptr<LlamaLibrary> kLibrary = LlamaLibrary::start("").value();
    return *kLibrary;
  }

  std::string path(const char* name) const { return (folder_ / name).string(); }

  static Factors draw_factors() {
    ggml_context* raw = nullptr;
    const Gguf gguf(
        gguf_init_from_file(test_model("qwen3", "f32").c_str(), {.no_alloc = true, .ctx = &raw}));
    const Ggml tensors(raw);
    const ggml_tensor* weight = ggml_get_tensor(raw, kTensor);
    Factors factors{.inputs = weight->ne[0], .outputs = weight->ne[1], .a = {}, .b = {}};
    Random random(11);
    const auto draw = [&](std::vector<float>& values, int64_t count) {
      for (int64_t i = 0; i < count; ++i)
        values.push_back(static_cast<float>(random.unit() - 0.5) * 0.3F);
    };
    draw(factors.a, kRank * factors.inputs);
    draw(factors.b, kRank * factors.outputs);
    return factors;
  }

  void write_adapter() const {
    const Gguf gguf(gguf_init_empty());
    gguf_set_val_str(gguf.get(), "general.type", "adapter");
    gguf_set_val_str(gguf.get(), "general.architecture", "qwen3");
    gguf_set_val_str(gguf.get(), "adapter.type", "lora");
    gguf_set_val_f32(gguf.get(), "adapter.lora.alpha", kAlpha);
    const Ggml ggml(
        ggml_init({.mem_size = size_t{1} << 20, .mem_buffer = nullptr, .no_alloc = false}));
    const auto add = [&](const char* suffix, int64_t ne0, int64_t ne1,
                         const std::vector<float>& values) {
      ggml_tensor* tensor = ggml_new_tensor_2d(ggml.get(), GGML_TYPE_F32, ne0, ne1);
      ggml_set_name(tensor, (std::string(kTensor) + suffix).c_str());
      std::memcpy(tensor->data, values.data(), values.size() * sizeof(float));
      gguf_add_tensor(gguf.get(), tensor);
    };
    add(".lora_a", factors_.inputs, kRank, factors_.a);
    add(".lora_b", kRank, factors_.outputs, factors_.b);
    ASSERT_TRUE(gguf_write_to_file(gguf.get(), path("adapter.gguf").c_str(), false));
  }

  // The model with scale * alpha / rank * B A added to the one tensor.
  void write_merged(float scale) const {
    std::ifstream in(test_model("qwen3", "f32"), std::ios::binary);
    std::string bytes((std::istreambuf_iterator<char>(in)), {});
    const Gguf gguf(gguf_init_from_file(test_model("qwen3", "f32").c_str(),
                                        {.no_alloc = true, .ctx = nullptr}));
    const size_t offset = gguf_get_data_offset(gguf.get()) +
                          gguf_get_tensor_offset(gguf.get(), gguf_find_tensor(gguf.get(), kTensor));
    for (int64_t o = 0; o < factors_.outputs; ++o) {
      for (int64_t i = 0; i < factors_.inputs; ++i) {
        double product = 0;
        for (int64_t k = 0; k < kRank; ++k) {
          product += static_cast<double>(factors_.b[static_cast<size_t>(o * kRank + k)]) *
                     factors_.a[static_cast<size_t>(k * factors_.inputs + i)];
        }
        const size_t at = offset + static_cast<size_t>(o * factors_.inputs + i) * sizeof(float);
        float weight = 0;
        std::memcpy(&weight, bytes.data() + at, sizeof(weight));
        weight += static_cast<float>(static_cast<double>(scale) * kAlpha / kRank * product);
        std::memcpy(bytes.data() + at, &weight, sizeof(weight));
      }
    }
    std::ofstream(path("merged.gguf"), std::ios::binary) << bytes;
  }

  // A row through the engine with adapters.
  static std::vector<llm::ScoredToken> answer(const std::vector<engine::AdapterChoice>& adapters) {
    const auto model =
        LlamaModel::load(library(), test_model("qwen3", "f32"), {.adapters = adapters}).value();
    auto runner = model
                      ->make_runner({.cells_max = 512,
                                     .threads = 1,
                                     .kv_type = engine::KvType::kF32,
                                     .flash_attention = engine::FlashAttention::kOff})
                      .value();
    const windrow::testing::ManualClock clock;
    engine::StepLoop loop(*runner, model->vocabulary(), clock);
    std::vector<llm::ScoredToken> tokens;
    loop.add({.prompt = {300, 301, 302, 303, 304},
              .output_tokens_max = 16,
              .sampling = {.temperature = 0},
              .ignore_eos = true,
              .logprobs_top = 0,
              .done = [&](llm::Outcome outcome) {
                tokens = std::get<llm::Answer>(std::move(outcome)).choices.at(0).tokens;
              }});
    while (loop.step()) {
    }
    return tokens;
  }

  static void expect_same(const std::vector<llm::ScoredToken>& answer, const PlainRow& plain) {
    ASSERT_EQ(answer.size(), plain.tokens.size());
    for (size_t i = 0; i < answer.size(); ++i) {
      ASSERT_EQ(answer[i].chosen.token, plain.tokens[i]) << i;
      ASSERT_NEAR(answer[i].chosen.logprob, plain.logprobs[i], 1e-4) << i;
    }
  }

  static PlainRow plain(const std::string& model) {
    library();  // before any model: it brings the devices
    return PlainModel(model).run({300, 301, 302, 303, 304}, 16, {});
  }

  std::filesystem::path folder_;
  Factors factors_;
};

TEST_F(AdapterTest, IsTheSumOfBoth) {
  for (const float scale : {1.0F, 0.5F, -0.75F}) {
    SCOPED_TRACE(scale);
    write_merged(scale);
    expect_same(answer({{.path = path("adapter.gguf"), .scale = scale}}),
                plain(path("merged.gguf")));
  }
}

TEST_F(AdapterTest, ChangesTheAnswerUnlessItsScaleIsNone) {
  const PlainRow base = plain(test_model("qwen3", "f32"));
  expect_same(answer({}), base);
  expect_same(answer({{.path = path("adapter.gguf"), .scale = 0}}), base);
  const std::vector<llm::ScoredToken> changed = answer({{.path = path("adapter.gguf")}});
  EXPECT_GT(std::abs(changed.at(0).chosen.logprob - base.logprobs.at(0)), 1e-3);
}

TEST_F(AdapterTest, TwoAddUp) {
  write_merged(1.0F);
  expect_same(answer({{.path = path("adapter.gguf"), .scale = 0.25F},
                      {.path = path("adapter.gguf"), .scale = 0.75F}}),
              plain(path("merged.gguf")));
}

TEST_F(AdapterTest, AFileThatDoesNotFitIsRefusedByName) {
  const auto refused = [&](const std::string& file) {
    return LlamaModel::load(library(), test_model("llama", "f32"), {.adapters = {{.path = file}}})
        .error()
        .message;
  };
  EXPECT_EQ(refused(path("none.gguf")), path("none.gguf") + ": there is no such adapter file");
  EXPECT_NE(refused(path("adapter.gguf")).find("cannot use it as a LoRA adapter of this model"),
            std::string::npos);
  EXPECT_NE(refused(test_model("llama", "f32")).find("cannot use it as a LoRA adapter"),
            std::string::npos);
}

}  // namespace
}  // namespace windrow::exactness
