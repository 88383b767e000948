#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <llama.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "make_model/families.h"
#include "make_model/options.h"
#include "make_model/vocabulary.h"
#include "make_model/words.h"
#include "make_model/writer.h"

namespace windrow::make_model {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Truly;

struct ModelFree {
  void operator()(llama_model* model) const { llama_model_free(model); }
};
struct ContextFree {
  void operator()(llama_context* context) const { llama_free(context); }
};
using Model = std::unique_ptr<llama_model, ModelFree>;
using Context = std::unique_ptr<llama_context, ContextFree>;

// A folder of its own for each test, removed with what is in it.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "make_model.XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::filesystem::path operator/(std::string_view name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

ModelSpec spec_of(Family family, WeightType type = WeightType::kF32) {
  return {.family = family,
          .type = type,
          .seed = 7,
          .pooling = default_pooling(family),
          .tied = false,
          .chat_template = std::string(chatml()),
          .shape = default_shape(family)};
}

std::string write_and_read(const ModelSpec& spec) {
  const Folder folder;
  const auto written = write_model(spec, folder / "model.gguf");
  EXPECT_TRUE(written) << written.error().message;
  return read_file(folder / "model.gguf");
}

Result<Options> parse(std::vector<const char*> arguments) {
  return parse_options(arguments);
}

std::string refusal_of(std::vector<const char*> arguments) {
  const Result<Options> options = parse(std::move(arguments));
  return options ? "accepted" : options.error().message;
}

void load_backends() {
  static const bool loaded = [] {
    llama_log_set([](ggml_log_level, const char*, void*) {}, nullptr);
    if (*WINDROW_GGML_BACKENDS_DIR != '\0') {
      ggml_backend_load_all_from_path(WINDROW_GGML_BACKENDS_DIR);
    } else {
      ggml_backend_load_all();
    }
    llama_backend_init();
    return true;
  }();
  ASSERT_TRUE(loaded);
}

std::vector<llama_token> tokenize(const llama_vocab* vocab, const std::string& text) {
  std::vector<llama_token> tokens(text.size() + 8);
  const int count =
      llama_tokenize(vocab, text.data(), static_cast<int32_t>(text.size()), tokens.data(),
                     static_cast<int32_t>(tokens.size()), false, false);
  EXPECT_GE(count, 0);
  tokens.resize(static_cast<size_t>(count));
  return tokens;
}

std::string text_of(const llama_vocab* vocab, const std::vector<llama_token>& tokens) {
  std::string text;
  for (const llama_token token : tokens) {
    char piece[256];
    const int size = llama_token_to_piece(vocab, token, piece, sizeof piece, 0, true);
    EXPECT_GE(size, 0);
    text.append(piece, static_cast<size_t>(size));
  }
  return text;
}

// Every family with every weight type.
class EveryModel : public ::testing::TestWithParam<std::tuple<Family, WeightType>> {
 protected:
  void SetUp() override {
    load_backends();
    spec_ = spec_of(std::get<0>(GetParam()), std::get<1>(GetParam()));
    const auto written = write_model(spec_, folder_ / "model.gguf");
    ASSERT_TRUE(written) << written.error().message;
    model_.reset(
        llama_model_load_from_file((folder_ / "model.gguf").c_str(), llama_model_default_params()));
    ASSERT_NE(model_, nullptr);
    vocab_ = llama_model_get_vocab(model_.get());
  }

  bool is_encoder() const { return spec_.family == Family::kBert; }

  // Runs one sequence; its last logits, or the pooled embedding of an encoder.
  std::vector<float> run(std::vector<llama_token> tokens) {
    llama_context_params params = llama_context_default_params();
    params.n_ctx = 256;
    params.n_threads = params.n_threads_batch = 1;
    params.embeddings = is_encoder();
    const Context context(llama_init_from_model(model_.get(), params));
    EXPECT_NE(context, nullptr);
    const llama_batch batch =
        llama_batch_get_one(tokens.data(), static_cast<int32_t>(tokens.size()));
    EXPECT_EQ(
        is_encoder() ? llama_encode(context.get(), batch) : llama_decode(context.get(), batch), 0);
    const float* values = is_encoder() ? llama_get_embeddings_seq(context.get(), 0)
                                       : llama_get_logits_ith(context.get(), -1);
    EXPECT_NE(values, nullptr);
    return {values, values + (is_encoder() ? spec_.shape.embd : spec_.shape.vocab)};
  }

  Folder folder_;
  ModelSpec spec_;
  Model model_;
  const llama_vocab* vocab_ = nullptr;
};

TEST_P(EveryModel, IsWellUnderTwoMegabytes) {
  EXPECT_LT(std::filesystem::file_size(folder_ / "model.gguf"), 1'500'000U);
}

TEST_P(EveryModel, IsTheSameForTheSameSeedAndAnotherForAnother) {
  const std::string once = read_file(folder_ / "model.gguf");
  EXPECT_TRUE(write_and_read(spec_) == once);
  spec_.seed = 8;
  const std::string other = write_and_read(spec_);
  EXPECT_EQ(other.size(), once.size());
  EXPECT_FALSE(other == once);
}

TEST_P(EveryModel, GivesFiniteNumbersThatDependOnTheWholeText) {
  const auto values = run(tokenize(vocab_, "the weather in the city was good"));
  EXPECT_THAT(values, Each(Truly([](float value) { return std::isfinite(value); })));
  EXPECT_NE(values, run(tokenize(vocab_, "my weather in the city was good")));
}

TEST_P(EveryModel, HasItsSpecialTokens) {
  const auto text = [&](llama_token token) {
    return token == LLAMA_TOKEN_NULL ? std::string("none")
                                     : std::string(llama_vocab_get_text(vocab_, token));
  };
  if (is_encoder()) {
    EXPECT_EQ(text(llama_vocab_bos(vocab_)), "[CLS]");
    EXPECT_EQ(text(llama_vocab_sep(vocab_)), "[SEP]");
    EXPECT_EQ(text(llama_vocab_pad(vocab_)), "[PAD]");
    EXPECT_EQ(text(llama_vocab_mask(vocab_)), "[MASK]");
    return;
  }
  EXPECT_EQ(text(llama_vocab_bos(vocab_)), "<|endoftext|>");
  EXPECT_EQ(text(llama_vocab_eos(vocab_)), "<|im_end|>");
  EXPECT_EQ(text(llama_vocab_pad(vocab_)), "<|endoftext|>");
  EXPECT_FALSE(llama_vocab_get_add_bos(vocab_));
  EXPECT_FALSE(llama_vocab_get_add_eos(vocab_));
  EXPECT_EQ(llama_model_chat_template(model_.get(), nullptr), chatml());
}

TEST_P(EveryModel, TokenisesTextAndGivesItBack) {
  if (is_encoder()) {
    EXPECT_EQ(text_of(vocab_, tokenize(vocab_, "The number is 42, they say.")),
              " the number is 42 , they say .");
    return;
  }
  std::string every_byte;
  for (int byte = 1; byte < 256; ++byte)
    every_byte += static_cast<char>(byte);
  for (const std::string& text :
       {std::string("Hello, the quick brown fox jumps over the lazy dog!\n\n\tIt's 2026."),
        std::string("Zürich, 北京, Ελλάδα, 🙂"), std::string("   "), std::string()}) {
    EXPECT_EQ(text_of(vocab_, tokenize(vocab_, text)), text);
  }
  // Bytes that are no UTF-8 are replaced before the vocabulary sees them; as tokens they exist.
  std::vector<llama_token> byte_tokens;
  for (llama_token token = 1; token < 256; ++token)
    byte_tokens.push_back(token);
  EXPECT_EQ(text_of(vocab_, byte_tokens), every_byte);
}

std::string name_of(const ::testing::TestParamInfo<EveryModel::ParamType>& info) {
  return std::string(family_names()[static_cast<size_t>(std::get<0>(info.param))]) + "_" +
         std::string(type_names()[static_cast<size_t>(std::get<1>(info.param))]);
}

// A layer of either kind: with the window alone, two layers would see 2 x 32 positions back.
TEST(MakeModel, ASwaModelSeesFurtherThanItsWindows) {
  load_backends();
  const Folder folder;
  ASSERT_TRUE(write_model(spec_of(Family::kSwa), folder / "model.gguf"));
  const Model model(
      llama_model_load_from_file((folder / "model.gguf").c_str(), llama_model_default_params()));
  ASSERT_NE(model, nullptr);
  const auto last_logits = [&](llama_token first) {
    std::vector<llama_token> tokens(200, 300);
    tokens[0] = first;
    llama_context_params params = llama_context_default_params();
    params.n_ctx = 256;
    params.n_threads = params.n_threads_batch = 1;
    const Context context(llama_init_from_model(model.get(), params));
    EXPECT_EQ(llama_decode(context.get(), llama_batch_get_one(tokens.data(), 200)), 0);
    const float* logits = llama_get_logits_ith(context.get(), -1);
    return std::vector<float>(logits, logits + 512);
  };
  EXPECT_NE(last_logits(5), last_logits(400));
}

INSTANTIATE_TEST_SUITE_P(
    MakeModel, EveryModel,
    ::testing::Combine(::testing::Values(Family::kLlama, Family::kQwen3, Family::kMoe,
                                         Family::kHybrid, Family::kSwa, Family::kBert),
                       ::testing::Values(WeightType::kF32, WeightType::kF16, WeightType::kQ8_0)),
    name_of);

// The bytes must not depend on machine, compiler or C library. When these numbers change, every
// expectation that names a generated text changes with them.
TEST(MakeModel, WritesTheBytesItAlwaysWrote) {
  const auto hash_of = [](WeightType type) {
    uint64_t hash = 0xCBF29CE484222325ULL;
    for (const char c : write_and_read(spec_of(Family::kLlama, type))) {
      hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3ULL;
    }
    return hash;
  };
  EXPECT_EQ(hash_of(WeightType::kF32), 3957755742614935023ULL);
  EXPECT_EQ(hash_of(WeightType::kF16), 11267174288269782423ULL);
  EXPECT_EQ(hash_of(WeightType::kQ8_0), 7082033326711446659ULL);
}

TEST(MakeModel, NextTokensAreNeitherEvenNorCertain) {
  load_backends();
  const Folder folder;
  ASSERT_TRUE(write_model(spec_of(Family::kQwen3), folder / "model.gguf"));
  const Model model(
      llama_model_load_from_file((folder / "model.gguf").c_str(), llama_model_default_params()));
  ASSERT_NE(model, nullptr);
  llama_context_params params = llama_context_default_params();
  params.n_ctx = 512;
  params.n_threads = params.n_threads_batch = 1;
  const Context context(llama_init_from_model(model.get(), params));
  ASSERT_NE(context, nullptr);

  std::vector<float> gaps;
  std::vector<float> tops;
  std::set<llama_token> chosen;
  llama_token token = 300;
  for (int step = 0; step < 200; ++step) {
    ASSERT_EQ(llama_decode(context.get(), llama_batch_get_one(&token, 1)), 0);
    const float* logits = llama_get_logits_ith(context.get(), -1);
    std::vector<float> sorted(logits, logits + 512);
    token = static_cast<llama_token>(std::max_element(logits, logits + 512) - logits);
    chosen.insert(token);
    std::sort(sorted.rbegin(), sorted.rend());
    gaps.push_back(sorted[0] - sorted[1]);
    float sum = 0;
    for (const float logit : sorted)
      sum += std::exp(logit - sorted[0]);
    tops.push_back(1 / sum);
  }
  std::sort(gaps.begin(), gaps.end());
  std::sort(tops.begin(), tops.end());
  EXPECT_GT(gaps[100], 0.5F);
  EXPECT_GT(tops[100], 0.2F);
  EXPECT_LT(tops[100], 0.7F);
  EXPECT_GT(chosen.size(), 50U);
}

TEST(MakeModel, EveryShapeFlagIsObeyed) {
  load_backends();
  const Folder folder;
  const Result<Options> options =
      parse({"--family", "swa",        "--layers", "3",          "--embd",   "48",   "--heads",
             "6",        "--kv-heads", "3",        "--head-dim", "8",        "--ff", "56",
             "--vocab",  "1000",       "--ctx",    "777",        "--window", "5",    "--seed",
             "9",        "--template", "none",     "-o",         "unused"});
  ASSERT_TRUE(options) << options.error().message;
  ASSERT_TRUE(write_model(options->spec, folder / "model.gguf"));
  const Model model(
      llama_model_load_from_file((folder / "model.gguf").c_str(), llama_model_default_params()));
  ASSERT_NE(model, nullptr);
  EXPECT_EQ(llama_model_n_layer(model.get()), 3);
  EXPECT_EQ(llama_model_n_embd(model.get()), 48);
  EXPECT_EQ(llama_model_n_head(model.get()), 6);
  EXPECT_EQ(llama_model_n_head_kv(model.get()), 3);
  EXPECT_EQ(llama_model_n_ctx_train(model.get()), 777);
  EXPECT_EQ(llama_model_n_swa(model.get()), 5);
  EXPECT_EQ(llama_vocab_n_tokens(llama_model_get_vocab(model.get())), 1000);
  EXPECT_EQ(llama_model_chat_template(model.get(), nullptr), nullptr);
  char value[32];
  EXPECT_GT(llama_model_meta_val_str(model.get(), "olmo2.feed_forward_length", value, 32), 0);
  EXPECT_STREQ(value, "56");
  EXPECT_GT(llama_model_meta_val_str(model.get(), "olmo2.attention.key_length", value, 32), 0);
  EXPECT_STREQ(value, "8");
}

TEST(MakeModel, ATiedModelHasNoHeadOfItsOwn) {
  for (const Family family : {Family::kLlama, Family::kMoe, Family::kHybrid}) {
    ModelSpec spec = spec_of(family);
    const std::string untied = write_and_read(spec);
    spec.tied = true;
    const std::string tied = write_and_read(spec);
    EXPECT_NEAR(static_cast<double>(untied.size() - tied.size()), 512 * 64 * 4, 200);
  }
}

TEST(MakeModel, BadFlagsAreRefusedWithAReason) {
  EXPECT_EQ(refusal_of({}),
            "--family is missing: give one of llama, qwen3, moe, hybrid, swa, bert");
  EXPECT_EQ(refusal_of({"--family", "mamba", "-o", "x"}),
            "--family does not know 'mamba': give one of llama, qwen3, moe, hybrid, swa, bert");
  EXPECT_EQ(refusal_of({"--family", "llama"}), "-o is missing: name the file to write");
  EXPECT_EQ(refusal_of({"--family", "llama", "-o"}), "-o needs a value");
  EXPECT_EQ(refusal_of({"--family", "llama", "--size", "3"}),
            "unknown argument '--size': --help lists the flags");
  EXPECT_EQ(refusal_of({"--family", "llama", "--embd", "64", "--embd", "32", "-o", "x"}),
            "--embd is given twice");
  EXPECT_EQ(refusal_of({"--family", "llama", "--embd", "64k", "-o", "x"}),
            "--embd takes a whole number, not '64k'");
  EXPECT_EQ(refusal_of({"--family", "llama", "--seed", "-1", "-o", "x"}),
            "--seed takes a whole number, not '-1'");
  EXPECT_EQ(refusal_of({"--family", "llama", "--type", "q4_0", "-o", "x"}),
            "--type does not know 'q4_0': give one of f32, f16, q8_0");
  EXPECT_EQ(refusal_of({"--family", "llama", "--layers", "0", "-o", "x"}),
            "--layers 0 is out of range: give 1 to 256");
  EXPECT_EQ(refusal_of({"--family", "llama", "--vocab", "260", "-o", "x"}),
            "--vocab 260 is out of range: give 261 to 1048576");
  EXPECT_EQ(refusal_of({"--family", "llama", "--kv-heads", "3", "-o", "x"}),
            "--heads 4 must be a multiple of --kv-heads 3");
  EXPECT_EQ(refusal_of({"--family", "llama", "--head-dim", "15", "-o", "x"}),
            "--head-dim 15 must be even: positions rotate pairs");
  EXPECT_EQ(refusal_of({"--family", "hybrid", "--heads", "4", "-o", "x"}),
            "--family hybrid needs --heads x --head-dim = --embd, but 4 x 32 is not 64");
  EXPECT_EQ(refusal_of({"--family", "qwen3", "--type", "q8_0", "--ff", "100", "-o", "x"}),
            "--ff 100 must be a multiple of 32 with --type q8_0");
  EXPECT_EQ(refusal_of({"--family", "llama", "--window", "16", "-o", "x"}),
            "--window is for --family swa only");
  EXPECT_EQ(refusal_of({"--family", "bert", "--tied", "-o", "x"}),
            "--tied means nothing with --family bert: it has no head");
  EXPECT_EQ(refusal_of({"--family", "swa", "--tied", "-o", "x"}),
            "--tied cannot be had with --family swa: olmo2 has a head");
  EXPECT_EQ(refusal_of({"--family", "llama", "--template", "/does/not/exist", "-o", "x"}),
            "--template /does/not/exist cannot be read: give chatml, none or the name of a file");
}

TEST(MakeModel, HelpIsGivenWhateverElseIsAsked) {
  const Result<Options> options = parse({"--family", "mamba", "--help"});
  ASSERT_TRUE(options);
  EXPECT_TRUE(options->help);
  for (const std::string_view family : family_names()) {
    EXPECT_THAT(std::string(help_text()), HasSubstr(std::string(family)));
  }
}

TEST(MakeModel, TakesATemplateFromAFile) {
  const Folder folder;
  std::ofstream(folder / "template") << "{{ messages }}";
  const Result<Options> options =
      parse({"--family", "llama", "--template", (folder / "template").c_str(), "-o", "x"});
  ASSERT_TRUE(options);
  EXPECT_EQ(options->spec.chat_template, "{{ messages }}");
}

TEST(MakeModel, SaysWhichFileCannotBeWritten) {
  const auto written = write_model(spec_of(Family::kLlama), "/does/not/exist/model.gguf");
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().message,
            "/does/not/exist/model.gguf.part cannot be written: No such file or directory");
}

TEST(MakeModel, AFullDiskLeavesNoFile) {
  // /dev/full takes nothing, so the header already fails.
  const Folder folder;
  std::filesystem::create_symlink("/dev/full", folder / "model.gguf.part");
  const auto written = write_model(spec_of(Family::kLlama), folder / "model.gguf");
  ASSERT_FALSE(written);
  EXPECT_THAT(written.error().message, HasSubstr("No space left on device"));
  EXPECT_FALSE(std::filesystem::exists(folder / "model.gguf"));
  EXPECT_FALSE(std::filesystem::is_symlink(folder / "model.gguf.part"));
}

TEST(Vocabulary, HasEveryTokenOnceAtAnySize) {
  for (const int64_t size : {smallest_bpe_vocabulary(), int64_t{512}, int64_t{5000}}) {
    const Vocabulary vocabulary = make_bpe_vocabulary(size);
    EXPECT_EQ(std::set<std::string>(vocabulary.tokens.begin(), vocabulary.tokens.end()).size(),
              static_cast<size_t>(size));
    EXPECT_EQ(vocabulary.kinds.size(), vocabulary.tokens.size());
    EXPECT_EQ(vocabulary.merges.size(), vocabulary.tokens.size() - 256 - 5);
  }
  for (const int64_t size : {smallest_word_piece_vocabulary(), int64_t{512}, int64_t{5000}}) {
    const Vocabulary vocabulary = make_word_piece_vocabulary(size);
    EXPECT_EQ(std::set<std::string>(vocabulary.tokens.begin(), vocabulary.tokens.end()).size(),
              static_cast<size_t>(size));
    EXPECT_EQ(vocabulary.kinds.size(), vocabulary.tokens.size());
  }
}

TEST(Vocabulary, EveryWordIsListedOnce) {
  const auto words = common_words();
  EXPECT_EQ(std::set<std::string_view>(words.begin(), words.end()).size(), words.size());
}

}  // namespace
}  // namespace windrow::make_model
