// The properties that libllama reports for each kind of model; they determine what the engine can
// share.
#include <gtest/gtest.h>

#include "facts/plain_llama.h"

namespace windrow::facts {
namespace {

struct Kind {
  std::string_view family;
  bool recurrent;
  bool hybrid;
  int32_t window;
  bool has_encoder;
  bool has_decoder;
};

class Kinds : public ::testing::TestWithParam<Kind> {};

TEST_P(Kinds, AreTold) {
  const Kind& kind = GetParam();
  const Model model = load_model(kind.family);
  EXPECT_EQ(llama_model_is_recurrent(model.get()), kind.recurrent);
  EXPECT_EQ(llama_model_is_hybrid(model.get()), kind.hybrid);
  EXPECT_EQ(llama_model_n_swa(model.get()), kind.window);
  EXPECT_EQ(llama_model_has_encoder(model.get()), kind.has_encoder);
  EXPECT_EQ(llama_model_has_decoder(model.get()), kind.has_decoder);
  EXPECT_FALSE(llama_model_is_diffusion(model.get()));
}

// bert claims a decoder; that it has no memory is what tells an encoder.
INSTANTIATE_TEST_SUITE_P(Facts, Kinds,
                         ::testing::Values(Kind{"llama", false, false, 0, false, true},
                                           Kind{"qwen3", false, false, 0, false, true},
                                           Kind{"moe", false, false, 0, false, true},
                                           Kind{"hybrid", false, true, 0, false, true},
                                           Kind{"swa", false, false, 32, false, true},
                                           Kind{"bert", false, false, 0, false, true}),
                         [](const auto& test) { return std::string(test.param.family); });

TEST(Kinds, OnlyAnEncoderHasNoMemory) {
  for (const std::string_view family : kGenerating) {
    const Model model = load_model(family);
    EXPECT_NE(memory_of(make_context(model, exact_params(256))), nullptr) << family;
  }
  const Model bert = load_model("bert");
  EXPECT_EQ(memory_of(make_context(bert, exact_params(256))), nullptr);
}

TEST(Kinds, ShapesAreTold) {
  const Model model = load_model("llama");
  EXPECT_EQ(llama_model_n_layer(model.get()), 2);
  EXPECT_EQ(llama_model_n_embd(model.get()), 64);
  EXPECT_EQ(llama_model_n_head(model.get()), 4);
  EXPECT_EQ(llama_model_n_head_kv(model.get()), 2);
  EXPECT_EQ(llama_model_n_ctx_train(model.get()), 4096);
  EXPECT_GT(llama_model_size(model.get()), 600'000U);
  EXPECT_GT(llama_model_n_params(model.get()), 150'000U);
}

}  // namespace
}  // namespace windrow::facts
