#include "app/commands/commands.h"

#include <gtest/gtest.h>

#include "engine/llama/llama_library.h"
#include "engine/llama/llama_model.h"

namespace windrow::app {
namespace {

engine::ModelFacts facts() {
  return {.architecture = "qwen3",
          .name = "tiny",
          .license = "apache-2.0",
          .description = "qwen3 0.6B Q8_0",
          .parameters = 596049920,
          .weights_bytes = 633495552,
          .layers = 28,
          .embedding_length = 1024,
          .context_trained = 40960,
          .vocabulary_size = 151936,
          .sharing = engine::Sharing::kAnyRange,
          .cell_bytes_f16 = 114688};
}

const std::vector<engine::Device> kDevices = {{.name = "CPU",
                                               .description = "a processor",
                                               .kind = engine::DeviceKind::kCpu,
                                               .memory_bytes = 8ULL << 30,
                                               .memory_free_bytes = 4ULL << 30}};

TEST(Inspect, TheTableSaysWhatAModelIsAndWhatItCannotDo) {
  EXPECT_EQ(inspection_text("m.gguf", facts(), kDevices),
            "file                  m.gguf\n"
            "name                  tiny\n"
            "licence               apache-2.0\n"
            "model                 qwen3 0.6B Q8_0\n"
            "kind                  decoder\n"
            "parameters            596,049,920\n"
            "weights               604 MiB\n"
            "layers                28, 1024 wide\n"
            "trained context       40,960 tokens\n"
            "vocabulary            151,936 tokens\n"
            "pooling               mean (the file does not say)\n"
            "context memory        112 KiB a token in f16\n"
            "prefix sharing        any range\n"
            "/v1/chat/completions  no: the model has no chat template, so it cannot answer "
            "/v1/chat/completions; name one with --chat-template, or send its prompts as text to "
            "/v1/completions\n"
            "/v1/completions       yes\n"
            "/v1/embeddings        yes\n"
            "/v1/rerank            no\n"
            "device                CPU (a processor, CPU, 4.00 GiB free of 8.00 GiB)\n");
}

TEST(Inspect, JsonHasTheSameFacts) {
  const boost::json::object json = inspection_json("m.gguf", facts(), kDevices);
  EXPECT_EQ(json.at("architecture"), "qwen3");
  EXPECT_EQ(json.at("license"), "apache-2.0");
  EXPECT_EQ(json.at("parameters"), 596049920U);
  EXPECT_EQ(json.at("chat_supported"), false);
  EXPECT_EQ(json.at("devices").at(0).at("name"), "CPU");
}

}  // namespace
}  // namespace windrow::app
