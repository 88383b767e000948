// The engine on a GPU: Mesa's Vulkan driver in software. What it computes is compared with the CPU,
// so nothing here is about speed. The environment names the driver (CMakeLists.txt).
//
// The driver compiles each kernel to code of the CPU, which takes a minute and more the first time,
// so what computes runs with WINDROW_SOAK=1 (./test --full).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/random.h"
#include "base/testing/manual_clock.h"
#include "devices/backends_folder.h"
#include "engine/generate/step_loop.h"
#include "engine/llama/llama_library.h"
#include "engine/llama/llama_model.h"

namespace windrow::devices {
namespace {

using engine::DeviceChoice;
using engine::LlamaLibrary;
using engine::LlamaModel;
using engine::LlamaRunnerOptions;
using engine::Token;

// Largest differences of log-probabilities and of the numbers of a vector. Drivers multiply in F16
// where they can.
constexpr double kLogprobTolerance = 0.02;
constexpr float kVectorTolerance = 0.01F;

// One start a process: libllama's devices are global.
LlamaLibrary& library() {
  static const BackendsFolder kFolder("vulkan");
  static const std::unique_ptr<LlamaLibrary> kLibrary = LlamaLibrary::start(kFolder.path()).value();
  return *kLibrary;
}

std::unique_ptr<LlamaModel> load(const std::string& family, const DeviceChoice& devices) {
  const std::string path = std::string(WINDROW_TEST_MODELS_DIR) + "/" + family + "-f32.gguf";
  Result<std::unique_ptr<LlamaModel>> model =
      LlamaModel::load(library(), path, {.devices = devices});
  EXPECT_TRUE(model) << model.error().message;
  return *std::move(model);
}

const DeviceChoice kCpu{.names = "none"};
const DeviceChoice kVulkan{.names = "Vulkan0"};

LlamaRunnerOptions exact(int32_t cells) {
  return {.cells_max = cells,
          .rows_max = 6,
          .step_tokens_max = 64,
          .threads = 1,
          .kv_type = engine::KvType::kF32,
          .flash_attention = engine::FlashAttention::kOff};
}

struct Row {
  std::vector<Token> prompt;
  int32_t output_tokens = 0;
};

class VulkanComputes : public ::testing::Test {
 protected:
  void SetUp() override {
    if (std::getenv("WINDROW_SOAK") == nullptr) GTEST_SKIP() << "runs with WINDROW_SOAK=1";
  }
};

// Every second one begins like the others of its kind.
std::vector<Row> some_rows(size_t count, int32_t output_tokens) {
  Random random(11);
  std::vector<Token> shared(40);
  for (Token& token : shared)
    token = static_cast<Token>(random.below(500));
  std::vector<Row> rows(count);
  for (size_t i = 0; i < count; ++i) {
    if (i % 2 == 0) rows[i].prompt = shared;
    for (int64_t left = random.between(4, 30); left > 0; --left)
      rows[i].prompt.push_back(static_cast<Token>(random.below(500)));
    rows[i].output_tokens = output_tokens;
  }
  return rows;
}

struct Answered {
  std::map<size_t, llm::Answer> answers;
  llm::BackendStats stats;
};

Answered answer(const LlamaModel& model, const std::vector<Row>& rows,
                const LlamaRunnerOptions& options) {
  auto runner = model.make_runner(options).value();
  Answered run;
  const testing::ManualClock clock;
  engine::StepLoop loop(*runner, model.vocabulary(), clock);
  for (size_t i = 0; i < rows.size(); ++i) {
    loop.add({.prompt = rows[i].prompt,
              .output_tokens_max = rows[i].output_tokens,
              .sampling = {.temperature = 0},
              .ignore_eos = true,
              .logprobs_top = 2,
              .done = [&run, i](llm::Outcome outcome) {
                run.answers[i] = std::get<llm::Answer>(std::move(outcome));
              }});
  }
  while (loop.step()) {
  }
  run.stats = loop.stats();
  return run;
}

// Each row must have the same tokens with the same log-probabilities, up to where two tokens were
// so nearly equal that rounding decides. Returns how many tokens were compared.
int compare(const Answered& cpu, const Answered& gpu) {
  int compared = 0;
  double largest = 0;
  EXPECT_EQ(cpu.answers.size(), gpu.answers.size());
  for (const auto& [i, alone] : cpu.answers) {
    SCOPED_TRACE(::testing::Message() << "row " << i);
    const std::vector<llm::ScoredToken>& expected = alone.choices[0].tokens;
    const std::vector<llm::ScoredToken>& actual = gpu.answers.at(i).choices[0].tokens;
    EXPECT_EQ(expected.size(), actual.size());
    for (size_t t = 0; t < std::min(expected.size(), actual.size()); ++t) {
      const float gap = expected[t].top[0].logprob - expected[t].top[1].logprob;
      if (expected[t].chosen.token != actual[t].chosen.token) {
        EXPECT_LT(gap, 2 * kLogprobTolerance) << "token " << t;
        break;
      }
      EXPECT_NEAR(expected[t].chosen.logprob, actual[t].chosen.logprob, kLogprobTolerance)
          << "token " << t;
      largest = std::max(largest, std::fabs(static_cast<double>(expected[t].chosen.logprob -
                                                                actual[t].chosen.logprob)));
      ++compared;
    }
  }
  ::testing::Test::RecordProperty("largest_difference", std::to_string(largest));
  return compared;
}

TEST(Vulkan, TheDriverIsADeviceWithMemoryOfItsOwn) {
  const std::vector<engine::Device> devices = library().devices();
  const auto gpu = std::ranges::find(devices, "Vulkan0", &engine::Device::name);
  ASSERT_NE(gpu, devices.end()) << engine::listed(devices);
  EXPECT_EQ(gpu->kind, engine::DeviceKind::kGpu);
  EXPECT_GT(gpu->memory_bytes, 0U);
}

TEST_F(VulkanComputes, RowsHaveTheAnswersOfTheCpuWithSharedPrefixesAndPreemption) {
  // Short answers first, so that too many long ones are begun for these cells.
  const LlamaRunnerOptions options = exact(256);
  std::vector<Row> rows = some_rows(20, 2);
  for (size_t i = 12; i < rows.size(); ++i)
    rows[i].output_tokens = 60;
  const Answered cpu = answer(*load("qwen3", kCpu), rows, options);
  ASSERT_GT(cpu.stats.preemptions, 0);
  const Answered gpu = answer(*load("qwen3", kVulkan), rows, options);
  EXPECT_GT(compare(cpu, gpu), 300) << "of 504 tokens";
  EXPECT_GT(gpu.stats.cached_tokens, 0);
  EXPECT_GT(gpu.stats.preemptions, 0);
  EXPECT_GT(gpu.stats.device_bytes_max, 0U);
}

TEST_F(VulkanComputes, LayersCanBeLeftOnTheCpu) {
  const std::vector<Row> rows = some_rows(3, 12);
  const Answered cpu = answer(*load("llama", kCpu), rows, exact(512));
  const Answered both =
      answer(*load("llama", {.names = "Vulkan0", .gpu_layers = 1}), rows, exact(512));
  EXPECT_GT(compare(cpu, both), 20);
}

// Recurrent layers: only whole prefixes are shared, and states are copied on the device.
TEST_F(VulkanComputes, AHybridModelHasTheAnswersOfTheCpu) {
  const std::vector<Row> rows = some_rows(5, 16);
  const Answered cpu = answer(*load("hybrid", kCpu), rows, exact(512));
  const Answered gpu = answer(*load("hybrid", kVulkan), rows, exact(512));
  EXPECT_GT(compare(cpu, gpu), 40);
}

TEST_F(VulkanComputes, VectorsAreThoseOfTheCpu) {
  for (const char* family : {"bert", "qwen3_last"}) {
    SCOPED_TRACE(family);
    std::vector<std::vector<std::vector<float>>> vectors;
    for (const DeviceChoice& devices : {kCpu, kVulkan}) {
      const auto model = load(family, devices);
      const auto runner = model->make_embedding_runner({.threads = 1}).value();
      Random random(3);
      std::vector<std::vector<Token>> inputs;
      for (const size_t tokens : {5U, 70U, 1U, 33U}) {
        inputs.emplace_back();
        for (size_t t = 0; t < tokens; ++t)
          inputs.back().push_back(static_cast<Token>(random.between(10, 500)));
      }
      const std::vector<std::span<const Token>> spans(inputs.begin(), inputs.end());
      const Result<void> ran = runner->run(spans);
      ASSERT_TRUE(ran) << ran.error().message;
      vectors.emplace_back();
      for (size_t i = 0; i < inputs.size(); ++i) {
        const std::span<const float> vector = runner->embedding(i);
        vectors.back().emplace_back(vector.begin(), vector.end());
      }
    }
    for (size_t i = 0; i < vectors[0].size(); ++i) {
      EXPECT_THAT(vectors[1][i],
                  ::testing::Pointwise(::testing::FloatNear(kVectorTolerance), vectors[0][i]));
    }
  }
}

TEST(Vulkan, ADeviceThatIsNotThereIsRefusedWithThoseThatAre) {
  const auto model =
      LlamaModel::load(library(), std::string(WINDROW_TEST_MODELS_DIR) + "/llama-f32.gguf",
                       {.devices = {.names = "Vulkan7"}});
  ASSERT_FALSE(model);
  EXPECT_THAT(model.error().message,
              ::testing::AllOf(::testing::StartsWith("there is no device \"Vulkan7\"; this machine "
                                                     "has "),
                               ::testing::HasSubstr("Vulkan0 ("), ::testing::HasSubstr("CPU (")));
}

}  // namespace
}  // namespace windrow::devices
