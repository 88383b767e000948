// The properties of a model as its file's header gives them, against those of the loaded model.
#include <gtest/gtest.h>

#include <memory>
#include <stop_token>
#include <string>

#include "engine/llama/llama_library.h"
#include "engine/llama/llama_model.h"
#include "engine/llama/memory_plan.h"
#include "exactness/plain_row.h"

namespace windrow::exactness {
namespace {

using engine::LlamaLibrary;
using engine::LlamaModel;
using engine::LlamaRunnerOptions;
using engine::ModelFacts;

LlamaLibrary& library() {
  static const std::unique_ptr<LlamaLibrary> kLibrary = LlamaLibrary::start("").value();
  return *kLibrary;
}

class Header : public ::testing::TestWithParam<const char*> {
 protected:
  static std::string path() { return test_model(GetParam(), "f32"); }
};

TEST_P(Header, ItsVocabularyIsThatOfTheLoadedModel) {
  const auto loaded = LlamaModel::load_vocabulary(library(), path());
  ASSERT_TRUE(loaded.has_value()) << loaded.error().message;
  const auto model = LlamaModel::load(library(), path(), {});
  ASSERT_TRUE(model.has_value()) << model.error().message;
  const engine::Vocabulary& one = *loaded->vocabulary;
  const engine::Vocabulary& other = (*model)->vocabulary();
  EXPECT_EQ(one.size(), other.size());
  EXPECT_EQ(one.begin_token(), other.begin_token());
  EXPECT_EQ(one.token_bytes_max(), other.token_bytes_max());
  EXPECT_EQ(loaded->facts.chat_template, (*model)->facts().chat_template);
  const std::string text = "<|im_start|>The house, \xC3\xA4 \xE2\x82\xAC \xF0\x9F\x98\x80\n 12";
  for (const engine::ControlTokens control :
       {engine::ControlTokens::kAsText, engine::ControlTokens::kParsed}) {
    EXPECT_EQ(one.tokenize(text, control), other.tokenize(text, control));
  }
  for (engine::Token token = 0; token < one.size(); ++token) {
    std::string piece;
    std::string same;
    one.append_piece(token, piece);
    other.append_piece(token, same);
    ASSERT_EQ(piece, same) << token;
  }
}

TEST_P(Header, SaysWhatTheLoadedModelDoes) {
  const Result<ModelFacts> header = LlamaModel::read_header(library(), path());
  ASSERT_TRUE(header.has_value()) << header.error().message;
  const auto model = LlamaModel::load(library(), path(), {});
  ASSERT_TRUE(model.has_value()) << model.error().message;
  const ModelFacts& loaded = (*model)->facts();
  EXPECT_EQ(header->architecture, loaded.architecture);
  EXPECT_EQ(header->layers, loaded.layers);
  EXPECT_EQ(header->heads, loaded.heads);
  EXPECT_EQ(header->embedding_length, loaded.embedding_length);
  EXPECT_EQ(header->context_trained, loaded.context_trained);
  EXPECT_EQ(header->vocabulary_size, loaded.vocabulary_size);
  EXPECT_EQ(header->sliding_window, loaded.sliding_window);
  EXPECT_EQ(header->recurrent, loaded.recurrent);
  EXPECT_EQ(header->hybrid, loaded.hybrid);
  EXPECT_EQ(header->encoder_only, loaded.encoder_only);
  EXPECT_EQ(header->pooling, loaded.pooling);
  EXPECT_EQ(header->sharing, loaded.sharing);
  EXPECT_EQ(header->weights_bytes, loaded.weights_bytes);
  // If layers differ, the loaded model reports the first one only.
  EXPECT_GE(header->cell_bytes_f16, loaded.cell_bytes_f16);
  if (!loaded.hybrid) {
    EXPECT_EQ(header->cell_bytes_f16, loaded.cell_bytes_f16);
  }
}

TEST_P(Header, TellsHowManyCellsAContextGets) {
  const Result<ModelFacts> header = LlamaModel::read_header(library(), path());
  ASSERT_TRUE(header.has_value()) << header.error().message;
  if (header->encoder_only) return;
  const auto model = LlamaModel::load(library(), path(), {});
  ASSERT_TRUE(model.has_value()) << model.error().message;
  for (const uint64_t memory_bytes : {uint64_t{1} << 20, uint64_t{4} << 20, uint64_t{16} << 20}) {
    const LlamaRunnerOptions options{.rows_max = 8, .threads = 1, .memory_bytes = memory_bytes};
    const auto runner = (*model)->make_runner(options);
    ASSERT_TRUE(runner.has_value()) << runner.error().message;
    EXPECT_EQ((*runner)->limits().cells_max,
              engine::whole_cells(engine::cells_of(*header, options, memory_bytes)))
        << memory_bytes;
  }
}

TEST_P(Header, WhatIsNotWantedIsNotLoaded) {
  std::stop_source unwanted;
  unwanted.request_stop();
  const auto model = LlamaModel::load(library(), path(), {.unwanted = unwanted.get_token()});
  ASSERT_FALSE(model.has_value());
  EXPECT_EQ(model.error().message, path() + ": not wanted any more");
}

INSTANTIATE_TEST_SUITE_P(Families, Header,
                         ::testing::Values("llama", "qwen3", "moe", "hybrid", "swa", "bert"),
                         [](const auto& family) { return std::string(family.param); });

TEST(HeaderOfNothing, IsAnErrorAsOfLoading) {
  const std::string none = ::testing::TempDir() + "/no-such-model.gguf";
  EXPECT_EQ(LlamaModel::read_header(library(), none).error().message,
            LlamaModel::load(library(), none, {}).error().message);
}

}  // namespace
}  // namespace windrow::exactness
