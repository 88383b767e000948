#include "engine/llama/gguf_header.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace windrow::engine {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;

// Of the shape of a model that can be computed.
GgufHeader header_of(std::string architecture) {
  GgufHeader header{.architecture = std::move(architecture), .numbers = {}};
  const auto set = [&](const std::string& name, double value) {
    header.numbers[header.architecture + "." + name] = {value};
  };
  set("block_count", 28);
  set("embedding_length", 1024);
  set("attention.head_count", 16);
  set("attention.head_count_kv", 8);
  set("attention.key_length", 64);
  set("attention.value_length", 64);
  set("attention.layer_norm_rms_epsilon", 1e-6);
  set("rope.dimension_count", 64);
  return header;
}

struct Absurd {
  std::string architecture;
  std::string name;
  double value = 0;
  std::string allowed;
};

class AbsurdHeader : public ::testing::TestWithParam<Absurd> {};

TEST_P(AbsurdHeader, IsRefusedByItsKeyWithWhatIsAllowedAndWhatToDo) {
  const Absurd& absurd = GetParam();
  GgufHeader header = header_of(absurd.architecture);
  ASSERT_TRUE(check_header(header).has_value());
  header.numbers[absurd.architecture + "." + absurd.name] = {absurd.value};
  const Result<void> checked = check_header(header);
  ASSERT_FALSE(checked.has_value());
  EXPECT_EQ(checked.error().kind, ErrorKind::kInvalid);
  EXPECT_THAT(checked.error().message,
              AllOf(HasSubstr(absurd.architecture + "." + absurd.name + " = "),
                    HasSubstr("libllama takes " + absurd.allowed),
                    EndsWith("get it again, or convert it again")));
}

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinite = std::numeric_limits<double>::infinity();

INSTANTIATE_TEST_SUITE_P(
    Values, AbsurdHeader,
    ::testing::Values(Absurd{"llama", "block_count", 0, "1 to 512 layers"},
                      Absurd{"llama", "block_count", 513, "1 to 512 layers"},
                      Absurd{"llama", "block_count", 123457, "1 to 512 layers"},
                      Absurd{"llama", "block_count", 2147483648, "1 to 512 layers"},
                      Absurd{"llama", "context_length", 0, "1 to 2147483647 tokens"},
                      Absurd{"llama", "context_length", 4294967295, "1 to 2147483647 tokens"},
                      Absurd{"llama", "attention.layer_norm_rms_epsilon", kNan, "a finite number"},
                      Absurd{"llama", "attention.layer_norm_rms_epsilon", -1, "a finite number"},
                      Absurd{"bert", "attention.layer_norm_epsilon", -kInfinite, "a finite number"},
                      Absurd{"qwen3moe", "expert_count", 65536, "0 to 1024"},
                      Absurd{"qwen3moe", "expert_used_count", 2, "0, or none"},
                      Absurd{"bert", "pooling_type", 5, "0 (none), 1 (mean)"},
                      Absurd{"llama", "rope.dimension_count", 7, "an even number from 0 to 64"},
                      Absurd{"llama", "rope.dimension_count", 66, "an even number from 0 to 64"},
                      Absurd{"lfm2", "rope.dimension_count", 0, "an even number from 2 to 64"},
                      Absurd{"qwen3", "rope.dimension_count", 32, "64, the size of a head"},
                      Absurd{"qwen3moe", "rope.dimension_count", 0, "64, the size of a head"},
                      Absurd{"olmo2", "rope.dimension_count", 32, "64, the size of a head"},
                      Absurd{"olmo2", "attention.key_length", 32, "64, the attention.value_length"},
                      Absurd{"bert", "attention.key_length", 2, "64, the attention.value_length"},
                      Absurd{"olmo2", "attention.head_count", 0, "1 or more"},
                      Absurd{"lfm2", "attention.head_count", 3, "as many heads of 64 as fill"},
                      Absurd{"bert", "attention.head_count", 15, "as many heads of 64 as fill"}),
    [](const auto& test) { return "Number" + std::to_string(test.index); });

TEST(GgufHeader, ExpertsThatAreUsedAreSomeOfThoseThereAre) {
  GgufHeader header = header_of("qwen3moe");
  header.numbers["qwen3moe.expert_count"] = {8};
  header.numbers["qwen3moe.expert_used_count"] = {8};
  EXPECT_TRUE(check_header(header).has_value());
  header.numbers["qwen3moe.expert_used_count"] = {0};
  EXPECT_FALSE(check_header(header).has_value());
  header.numbers["qwen3moe.expert_used_count"] = {2, 9};  // by layer
  EXPECT_THAT(check_header(header).error().message, HasSubstr("expert_used_count = 9"));
}

TEST(GgufHeader, AWindowHasToBelongToSomeLayers) {
  GgufHeader header = header_of("olmo2");
  header.numbers["olmo2.attention.sliding_window_pattern"] = {1};
  EXPECT_TRUE(check_header(header).has_value());
  header.numbers["olmo2.attention.sliding_window"] = {4096};
  EXPECT_FALSE(check_header(header).has_value());
  header.numbers["olmo2.attention.sliding_window_pattern"] = {4};
  EXPECT_TRUE(check_header(header).has_value());
}

// Headers of models that exist, in what is unusual about them.
TEST(GgufHeader, UnusualModelsPass) {
  GgufHeader recurrent{.architecture = "mamba", .numbers = {}};
  recurrent.numbers["mamba.block_count"] = {48};
  recurrent.numbers["mamba.attention.head_count"] = {0};
  recurrent.numbers["mamba.embedding_length"] = {1536};
  EXPECT_TRUE(check_header(recurrent).has_value());

  GgufHeader latent = header_of("deepseek2");
  latent.numbers["deepseek2.attention.key_length"] = {576};
  latent.numbers["deepseek2.attention.value_length"] = {512};
  latent.numbers["deepseek2.expert_count"] = {256};
  latent.numbers["deepseek2.expert_used_count"] = {8};
  EXPECT_TRUE(check_header(latent).has_value());

  GgufHeader hybrid = header_of("granitehybrid");  // it rotates nothing
  hybrid.numbers["granitehybrid.ssm.state_size"] = {128};
  hybrid.numbers["granitehybrid.rope.dimension_count"] = {192};
  EXPECT_TRUE(check_header(hybrid).has_value());

  GgufHeader by_layer = header_of("openelm");
  by_layer.numbers.erase("openelm.attention.key_length");
  by_layer.numbers["openelm.attention.head_count"] = {12, 12, 16};
  EXPECT_TRUE(check_header(by_layer).has_value());

  EXPECT_TRUE(check_header(GgufHeader{}).has_value()) << "what is absent is libllama's to refuse";
}

}  // namespace
}  // namespace windrow::engine
