// Calls that kill the process, so that the engine checks for them before every call. Each runs in a
// process of its own.
#include <gtest/gtest.h>

#include <csignal>
#include <fstream>
#include <iterator>

#include "facts/plain_llama.h"

namespace windrow::facts {
namespace {

void decode_beyond_the_batch() {
  const Model model = load_model("llama");
  llama_context_params params = exact_params(512);
  params.n_batch = 64;
  const Context context = make_context(model, params);
  Batch batch;
  decode(context, batch.add_run(some_tokens(65, 1), 0, 0));
}

TEST(KillsTheProcess, ABatchLargerThanTheContextTakes) {
  EXPECT_LLAMA_ABORT(decode_beyond_the_batch(), "GGML_ASSERT.*n_tokens.*n_batch");
}

void decode_beyond_the_context() {
  const Model model = load_model("llama");
  const Context context = make_context(model, exact_params(256));
  Batch batch;
  decode(context, batch.add_run(some_tokens(257, 1), 0, 0));
}

// Not code 1: n_batch is capped to the context.
TEST(KillsTheProcess, ABatchLargerThanTheWholeContext) {
  EXPECT_LLAMA_ABORT(decode_beyond_the_context(), "GGML_ASSERT.*n_tokens.*n_batch");
}

void encode_beyond_the_micro_batch() {
  const Model model = load_model("bert");
  llama_context_params params = llama_context_default_params();
  params.embeddings = true;
  params.n_ctx = params.n_batch = 256;
  params.n_ubatch = 64;
  const Context context = make_context(model, params);
  Batch batch;
  llama_encode(context.get(), batch.add_run(some_tokens(65, 1), 0, 0).view());
}

TEST(KillsTheProcess, AnEncoderInputLargerThanTheMicroBatch) {
  EXPECT_LLAMA_ABORT(encode_beyond_the_micro_batch(), "GGML_ASSERT.*n_ubatch.*n_tokens");
}

void encode_beyond_the_position_table() {
  const Model model = load_model("bert");
  llama_context_params params = llama_context_default_params();
  params.embeddings = true;
  params.n_ctx = params.n_batch = params.n_ubatch = 1024;
  const Context context = make_context(model, params);
  Batch batch;
  llama_encode(context.get(), batch.add_run(some_tokens(513, 1), 0, 0).view());
}

TEST(KillsTheProcess, AnEncoderInputLongerThanThePositionTableOfItsModel) {
  EXPECT_LLAMA_ABORT(encode_beyond_the_position_table(), "GGML_ASSERT.*ne01");
}

void make_an_encoder_context_of(uint32_t micro_batch, uint32_t sequences) {
  const Model model = load_model("bert");
  llama_context_params params = llama_context_default_params();
  params.embeddings = true;
  params.n_ctx = params.n_batch = params.n_ubatch = micro_batch;
  params.n_seq_max = sequences;
  const Context context = make_context(model, params);
}

// With mean pooling; making the context is enough.
TEST(KillsTheProcess, AMicroBatchThatIsNoMultipleOfTheSequences) {
  make_an_encoder_context_of(576, 32);
  EXPECT_LLAMA_ABORT(make_an_encoder_context_of(720, 32), "GGML_ASSERT.*ggml_can_mul_mat");
}

void copy_a_part_between_split_sequences() {
  const Model model = load_model("llama");
  llama_context_params params = exact_params(1024, 2);
  params.kv_unified = false;
  const Context context = make_context(model, params);
  Batch batch;
  decode(context, batch.add_run(some_tokens(20, 1), 0, 0));
  llama_memory_seq_cp(memory_of(context), 0, 1, 0, 10);
}

TEST(KillsTheProcess, CopyingAPartOfASequenceInASplitCache) {
  EXPECT_LLAMA_ABORT(copy_a_part_between_split_sequences(), "GGML_ASSERT.*full KV");
}

void want_more_outputs_than_reserved() {
  const Model model = load_model("llama");
  llama_context_params params = exact_params(256);
  params.n_outputs_max = 4;
  const Context context = make_context(model, params);
  Batch batch;
  for (int position = 0; position < 5; ++position)
    batch.add(300, position, 0, true);
  decode(context, batch);
}

TEST(KillsTheProcess, MoreOutputsThanTheContextReserved) {
  EXPECT_LLAMA_ABORT(want_more_outputs_than_reserved(), "GGML_ASSERT.*n_outputs_max");
}

void make_context_of(uint32_t context_tokens, uint32_t sequences, uint32_t batch,
                     uint32_t outputs) {
  const Model model = load_model("llama");
  llama_context_params params = exact_params(context_tokens, sequences);
  params.n_batch = batch;
  params.n_outputs_max = outputs;
  make_context(model, params);
}

// Every sequence has an output reserved, out of the number reserved in all.
TEST(KillsTheProcess, AContextWithFewerOutputsThanSequences) {
  EXPECT_LLAMA_ABORT(make_context_of(256, 8, 2048, 7), "GGML_ASSERT.*n_outputs_max");
}

TEST(KillsTheProcess, AContextWithASmallerBatchThanItHasSequences) {
  EXPECT_LLAMA_ABORT(make_context_of(256, 8, 7, 0), "GGML_ASSERT.*n_outputs_max");
}

// The batch is capped to the context as asked for, before rounding.
TEST(KillsTheProcess, AContextAskedForWithFewerTokensThanSequences) {
  EXPECT_LLAMA_ABORT(make_context_of(7, 8, 2048, 0), "GGML_ASSERT.*n_outputs_max");
}

void tokenise_without_a_vocabulary() {
  std::ifstream whole(model_path("llama"), std::ios::binary);
  std::string content((std::istreambuf_iterator<char>(whole)), {});
  content.replace(content.find("gpt2", content.find("tokenizer.ggml.model")), 4, "none");
  const std::string path = ::testing::TempDir() + "no_vocabulary.gguf";
  std::ofstream(path, std::ios::binary) << content;
  const Model model = load_file(path);
  if (!model) return;
  std::vector<llama_token> tokens(8);
  llama_tokenize(llama_model_get_vocab(model.get()), "a", 1, tokens.data(), 8, false, false);
}

// Such a model loads like any other.
TEST(KillsTheProcess, ATextForAModelWithoutAVocabulary) {
  EXPECT_LLAMA_ABORT(tokenise_without_a_vocabulary(), "GGML_ASSERT.*tokenizer");
}

void remove_a_sequence_beyond_256() {
  const Model model = load_model("llama");
  const Context context = make_context(model, exact_params(256, 4));
  llama_memory_seq_rm(memory_of(context), 256, -1, -1);
}

TEST(KillsTheProcess, ASequenceIdOf256InAMemoryCall) {
  EXPECT_LLAMA_ABORT(remove_a_sequence_beyond_256(), "GGML_ASSERT.*seq_id");
}

}  // namespace
}  // namespace windrow::facts
