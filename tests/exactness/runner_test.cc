// The limits that a runner reports and the ones it refuses; and that no step reaches an assert of
// libllama.
#include <ggml-backend.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>

#include "base/random.h"
#include "chat/chat_template.h"
#include "engine/llama/llama_library.h"
#include "engine/llama/llama_model.h"
#include "engine/llama/llama_runner.h"
#include "engine/schedule/batch_scheduler.h"
#include "exactness/plain_row.h"

namespace windrow::exactness {
namespace {

using engine::LlamaLibrary;
using engine::LlamaModel;
using engine::Sharing;

class Runner : public ::testing::Test {
 protected:
  static LlamaLibrary& library() {
    static const std::unique_ptr<LlamaLibrary> kLibrary = LlamaLibrary::start("").value();
    return *kLibrary;
  }

  static std::unique_ptr<LlamaModel> load(const std::string& family) {
    return LlamaModel::load(library(), test_model(family, "f32"), {}).value();
  }

  static std::string refusal(const std::string& path) {
    const auto model = LlamaModel::load(library(), path, {});
    return model ? "loaded" : model.error().message;
  }

  static std::string file_with(const std::string& name, const std::string& bytes) {
    const std::string path = ::testing::TempDir() + name;
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }
};

TEST_F(Runner, SaysWhatEachFamilyCanShare) {
  EXPECT_EQ(load("llama")->facts().sharing, Sharing::kAnyRange);
  EXPECT_EQ(load("qwen3")->facts().sharing, Sharing::kAnyRange);
  EXPECT_EQ(load("moe")->facts().sharing, Sharing::kAnyRange);
  EXPECT_EQ(load("hybrid")->facts().sharing, Sharing::kExactEnd);
  EXPECT_TRUE(load("hybrid")->facts().hybrid);
  EXPECT_EQ(load("swa")->facts().sharing, Sharing::kExactEnd);
  EXPECT_GT(load("swa")->facts().sliding_window, 0);
}

TEST_F(Runner, KnowsTheChatFormatOfTheTestModels) {
  EXPECT_TRUE(chat::ChatTemplate::make(load("qwen3")->facts().chat_template, {}));
}

TEST_F(Runner, AnEncoderIsLoadedButAnswersNothing) {
  const auto model = load("bert");
  EXPECT_TRUE(model->facts().encoder_only);
  EXPECT_EQ(model->facts().pooling, "mean");
  const auto runner = model->make_runner({});
  ASSERT_FALSE(runner);
  EXPECT_EQ(runner.error().message,
            "bert is an encoder (an embedding model): it cannot generate text, and this version "
            "answers only chat and completions");
}

// Not every encoder says in its metadata that it is one.
TEST_F(Runner, AModelWithoutMemoryGetsNoRunner) {
  LlamaLibrary& started = library();  // before any model: it brings the devices
  const PlainModel bert(test_model("bert", "f32"));
  const engine::HostingDevices cpu({ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU)});
  const auto runner =
      engine::LlamaRunner::make(started, *bert.get(), cpu, {}, "bert.gguf",
                                {.architecture = "bert", .context_trained = 512}, {});
  ASSERT_FALSE(runner);
  EXPECT_EQ(runner.error().message,
            "bert keeps no memory of what came before (it is an encoder): it cannot generate text; "
            "use a model that was trained to");
}

// libllama would end the process at the first text it has to tokenise.
TEST_F(Runner, AModelWithoutAVocabularyIsRefused) {
  std::ifstream in(test_model("llama", "f32"), std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(in)), {});
  const size_t kind = bytes.find("gpt2", bytes.find("tokenizer.ggml.model"));
  ASSERT_NE(kind, std::string::npos);
  bytes.replace(kind, 4, "none");
  const std::string path = file_with("mute.gguf", bytes);
  EXPECT_EQ(refusal(path), path +
                               ": the file has no vocabulary, so no text can be given to this "
                               "llama model; convert it again with its tokeniser");
}

TEST_F(Runner, CellsOfAHybridCostMemoryToo) {
  // Its first layer has no attention, and libllama reports the heads of that layer.
  EXPECT_GT(load("hybrid")->facts().cell_bytes_f16, 0U);
}

TEST_F(Runner, RefusesWhatIsNoModelAndSaysWhatItIs) {
  EXPECT_EQ(refusal("/nowhere/model.gguf"), "/nowhere/model.gguf: there is no such model file");
  EXPECT_EQ(refusal("/tmp"), "/tmp: this is a folder; give the .gguf file inside it");
  const std::string text = file_with("text.gguf", "hello, I am a text file");
  EXPECT_EQ(refusal(text), text +
                               ": this is not a GGUF file (it does not start with \"GGUF\"); "
                               "other formats must be converted first");
  const std::string empty = file_with("empty.gguf", "");
  EXPECT_NE(refusal(empty).find("this is not a GGUF file"), std::string::npos);
}

TEST_F(Runner, ADamagedModelIsRefusedWithTheReasonOfLibllama) {
  const std::string whole = test_model("qwen3", "f32");
  std::ifstream in(whole, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(in)), {});
  const std::string path = file_with("cut.gguf", bytes.substr(0, bytes.size() / 2));
  const std::string message = refusal(path);
  EXPECT_NE(message.find("libllama cannot load this model"), std::string::npos) << message;
  EXPECT_EQ(message.find("no reason given"), std::string::npos) << message;
}

TEST_F(Runner, RefusesOptionsThatCannotBe) {
  const auto model = load("qwen3");
  const auto refused = [&](engine::LlamaRunnerOptions options) {
    const auto runner = model->make_runner(options);
    return runner ? "made" : runner.error().message;
  };
  EXPECT_EQ(refused({.rows_max = 300}), "--rows-max is 300; libllama can tell 1 to 256 rows apart");
  EXPECT_EQ(
      refused({.rows_max = 64, .step_tokens_max = 32}),
      "--batch-tokens is 32, but --rows-max 64 rows need a token each; raise the one or lower "
      "the other");
  const auto wrong_device =
      LlamaModel::load(library(), test_model("qwen3", "f32"), {.devices = {.names = "toaster"}});
  ASSERT_FALSE(wrong_device);
  EXPECT_TRUE(
      wrong_device.error().message.starts_with("there is no device \"toaster\"; this machine has "))
      << wrong_device.error().message;
}

TEST_F(Runner, LimitsAreThoseLibllamaReallyGave) {
  const auto runner =
      load("qwen3")->make_runner({.cells_max = 300, .rows_max = 3, .step_tokens_max = 4096});
  ASSERT_TRUE(runner);
  EXPECT_EQ((*runner)->limits().cells_max, 512) << "rounded up to a multiple of 256";
  EXPECT_EQ((*runner)->limits().rows_max, 3);
  EXPECT_LE((*runner)->limits().step_tokens_max, 512) << "capped by the cells";
}

// Steps of the scheduler, run for real with random tokens: libllama would end the process if one
// broke a limit that it asserts on.
TEST_F(Runner, FuzzedStepsNeverReachAnAssertOfLibllama) {
  for (const char* family : {"qwen3", "hybrid", "swa"}) {
    const auto model = load(family);
    for (uint64_t seed = 0; seed < 6; ++seed) {
      SCOPED_TRACE(::testing::Message() << family << ", seed " << seed);
      Random random(seed);
      const auto sequences = static_cast<int32_t>(random.between(1, 12));
      const auto runner =
          model
              ->make_runner(
                  {.cells_max = 256,
                   .rows_max = sequences,
                   .step_tokens_max = static_cast<int32_t>(random.between(sequences, 300)),
                   .threads = 1})
              .value();
      const engine::RunnerLimits limits = runner->limits();
      engine::BatchScheduler scheduler({.cells_max = limits.cells_max,
                                        .rows_max = limits.rows_max,
                                        .sequences_max = limits.sequences_max,
                                        .step_tokens_max = limits.step_tokens_max,
                                        .step_outputs_max = limits.step_outputs_max,
                                        .sharing = limits.sharing});
      std::map<uint64_t, std::vector<engine::Token>> rows;
      std::map<uint64_t, size_t> ends;
      uint64_t next_row = 0;
      const auto token = [&] { return static_cast<engine::Token>(random.below(512)); };
      std::vector<engine::Token> beginning(120);
      std::ranges::generate(beginning, token);
      while (next_row < 30 || !rows.empty()) {
        while (next_row < 30 && random.chance(0.5)) {
          const auto prompt = static_cast<size_t>(random.between(1, limits.row_tokens_max - 1));
          std::vector<engine::Token>& tokens = rows[next_row];
          tokens = beginning;
          tokens.resize(std::min(prompt, static_cast<size_t>(random.below(beginning.size() + 1))));
          while (tokens.size() < prompt)
            tokens.push_back(token());
          const auto left = limits.row_tokens_max - static_cast<int32_t>(prompt);
          const auto answer = static_cast<int32_t>(random.between(1, std::min(left, 20)));
          ends[next_row] = prompt + static_cast<size_t>(answer);
          // Some score their prompts.
          const int32_t last = static_cast<int32_t>(prompt) - 1;
          scheduler.add({.id = engine::RowId(next_row++),
                         .tokens = &tokens,
                         .prompt_tokens = static_cast<int32_t>(prompt),
                         .output_tokens_max = answer,
                         .outputs_from = random.chance(0.8)
                                             ? last
                                             : static_cast<int32_t>(random.between(0, last)),
                         .keep = random.chance(0.3)});
        }
        const engine::ScheduledStep step =
            scheduler.next(static_cast<int32_t>(random.between(1, 300)));
        for (const engine::MemoryChange& change : step.changes)
          runner->change(change);
        if (step.slices.empty()) continue;
        std::vector<engine::StepRow> ragged;
        for (const engine::Slice& slice : step.slices) {
          ragged.push_back({.sequence = slice.sequence,
                            .first = slice.first,
                            .tokens = std::span(rows.at(slice.row.value()))
                                          .subspan(static_cast<size_t>(slice.first),
                                                   static_cast<size_t>(slice.tokens_count)),
                            .outputs_count = slice.outputs_count});
        }
        const Result<void> ran = runner->run(ragged);
        if (!ran) {
          // Shared cells that left the sliding window are not used again.
          ASSERT_EQ(ran.error().kind, ErrorKind::kNoSpace) << ran.error().message;
          ASSERT_EQ(limits.sharing, engine::Sharing::kExactEnd);
          ASSERT_TRUE(scheduler.step_had_no_space(step));
          continue;
        }
        scheduler.step_ran(step);
        for (const engine::Slice& slice : step.slices) {
          const uint64_t id = slice.row.value();
          const int32_t computed = slice.first + slice.tokens_count;
          if (static_cast<size_t>(computed) < rows.at(id).size()) continue;
          rows.at(id).push_back(token());
          if (rows.at(id).size() == ends.at(id) || random.chance(0.05)) {
            scheduler.remove(slice.row);
            rows.erase(id);
          } else {
            scheduler.extend(slice.row);
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace windrow::exactness
