// Files that are no models, the log, and metadata.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "facts/plain_llama.h"

namespace windrow::facts {
namespace {

using ::testing::HasSubstr;

// Writes `content` into a file, loads it, and ends the process: 0 when libllama said no.
[[noreturn]] void load_and_exit(const std::string& content) {
  std::string name = (std::filesystem::temp_directory_path() / "facts.XXXXXX").string();
  const int file = mkstemp(name.data());
  std::ofstream(name, std::ios::binary) << content;
  const bool loaded = load_file(name) != nullptr;
  std::filesystem::remove(name);
  std::exit(file < 0 || loaded ? 1 : 0);
}

std::string bytes_of_model(std::string_view family) {
  std::ifstream file(model_path(family), std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

TEST(Loading, AMissingFileIsRefused) {
  EXPECT_CLEAN_EXIT(std::exit(load_file("/does/not/exist.gguf") ? 1 : 0), "failed to open");
}

TEST(Loading, AnEmptyFileIsRefused) {
  EXPECT_CLEAN_EXIT(load_and_exit(""), "failed to");
}

TEST(Loading, AFileThatIsNoGgufIsRefused) {
  EXPECT_CLEAN_EXIT(load_and_exit("{\"custom_id\": 1}\n"), "invalid magic");
}

TEST(Loading, AFolderIsRefused) {
  EXPECT_CLEAN_EXIT(std::exit(load_file("/tmp") ? 1 : 0), "failed to");
}

class TruncatedAt : public ::testing::TestWithParam<double> {};

TEST_P(TruncatedAt, IsRefused) {
  std::string content = bytes_of_model("llama");
  content.resize(static_cast<size_t>(static_cast<double>(content.size()) * GetParam()));
  EXPECT_CLEAN_EXIT(load_and_exit(content), "failed to|not within the file bounds");
}

INSTANTIATE_TEST_SUITE_P(Facts, TruncatedAt,
                         ::testing::Values(0.00001, 0.0001, 0.005, 0.01, 0.02, 0.1, 0.5, 0.99),
                         [](const auto& test) { return std::to_string(test.index); });

TEST(Loading, AnUnknownArchitectureIsRefusedByName) {
  std::string content = bytes_of_model("llama");
  const size_t place = content.find("general.architecture") + 20 + 4 + 8;
  ASSERT_EQ(content.substr(place, 5), "llama");
  content.replace(place, 5, "lxxma");
  EXPECT_CLEAN_EXIT(load_and_exit(content), "unknown model architecture: 'lxxma'");
}

TEST(Loading, AMissingTensorIsRefusedByName) {
  std::string content = bytes_of_model("llama");
  const size_t place = content.find("blk.1.ffn_down.weight");
  ASSERT_NE(place, std::string::npos);
  content.replace(place, 21, "blk.1.ffn_done.weight");
  EXPECT_CLEAN_EXIT(load_and_exit(content), "tensor 'blk.1.ffn_down.weight' not found");
}

void append_to(ggml_log_level level, const char* text, void* log) {
  static_cast<std::string*>(log)->append(std::to_string(level)).append(" ").append(text);
}

TEST(Log, ReceivesTheReasonOfAFailureAsAnError) {
  load_model("llama");  // so that the plug-ins are loaded and silent
  std::string log;
  llama_log_set(&append_to, &log);
  EXPECT_EQ(load_file("/does/not/exist.gguf"), nullptr);
  llama_log_set(nullptr, nullptr);
  EXPECT_THAT(log, HasSubstr(std::to_string(GGML_LOG_LEVEL_ERROR) + " "));
  EXPECT_THAT(log, HasSubstr("/does/not/exist.gguf"));
}

TEST(Log, ReceivesTheReasonOfARefusedBatch) {
  const Model model = load_model("llama");
  const Context context = make_context(model, exact_params(256));
  std::string log;
  llama_log_set(&append_to, &log);
  Batch batch;
  EXPECT_EQ(decode(context, batch.add(kVocab, 0, 0, true)), -1);
  llama_log_set(nullptr, nullptr);
  EXPECT_THAT(log, HasSubstr("invalid token[0] = 512"));
}

std::string metadata(const Model& model, const char* key) {
  char value[128];
  const int32_t size = llama_model_meta_val_str(model.get(), key, value, sizeof value);
  return size < 0 ? "none" : std::string(value);
}

TEST(Metadata, IsReadAsText) {
  const Model model = load_model("moe");
  EXPECT_EQ(metadata(model, "general.architecture"), "qwen3moe");
  EXPECT_EQ(metadata(model, "general.name"), "random qwen3moe, seed 1");
  EXPECT_EQ(metadata(model, "qwen3moe.expert_count"), "8");
  EXPECT_EQ(metadata(model, "qwen3moe.expert_weights_norm"), "true");
  EXPECT_EQ(metadata(model, "tokenizer.ggml.model"), "gpt2");
  EXPECT_EQ(metadata(model, "tokenizer.ggml.pre"), "qwen2");
}

TEST(Metadata, OfNoKeyAndOfArraysIsNone) {
  const Model model = load_model("moe");
  EXPECT_EQ(metadata(model, "no.such.key"), "none");
  EXPECT_EQ(metadata(model, "tokenizer.ggml.tokens"), "none");
}

TEST(Metadata, TooLongForItsBufferIsCutAndItsLengthTold) {
  const Model model = load_model("moe");
  char value[4];
  EXPECT_EQ(llama_model_meta_val_str(model.get(), "general.architecture", value, sizeof value), 8);
  EXPECT_STREQ(value, "qwe");
}

TEST(Metadata, NamesTheKindAndTheWeights) {
  char text[64];
  llama_model_desc(load_model("qwen3", "q8_0").get(), text, sizeof text);
  EXPECT_STREQ(text, "qwen3 ?B Q8_0");
  EXPECT_EQ(llama_model_ftype(load_model("qwen3", "f16").get()), LLAMA_FTYPE_MOSTLY_F16);
}

// Weights stay where the file is mapped: a process that has a model open must not see it change.
TEST(Loading, ManyContextsCanUseOneModel) {
  const Model model = load_model("llama");
  const Context first = make_context(model, exact_params(256));
  const Context second = make_context(model, exact_params(256));
  const auto text = some_tokens(20, 1);
  Batch batch;
  ASSERT_EQ(decode(first, batch.add_run(text, 0, 0)), 0);
  ASSERT_EQ(decode(second, batch), 0);
  EXPECT_EQ(logits_of(first), logits_of(second));
}

}  // namespace
}  // namespace windrow::facts
