// Embeddings and rerank scores of the engine against plain libllama calls, one input at a time.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <future>

#include "base/clock.h"
#include "base/random.h"
#include "engine/embed/embedding_backend.h"
#include "engine/llama/llama_library.h"
#include "engine/llama/llama_model.h"
#include "exactness/plain_embedding.h"

namespace windrow::exactness {
namespace {

using engine::EmbeddingBackend;
using engine::EmbeddingRunner;
using engine::LlamaEmbeddingOptions;
using engine::LlamaLibrary;
using engine::LlamaModel;
using engine::Pooling;
using engine::Token;

LlamaLibrary& library() {
  static const std::unique_ptr<LlamaLibrary> kLibrary = LlamaLibrary::start("").value();
  return *kLibrary;
}

std::unique_ptr<LlamaModel> load(const std::string& family, const std::string& type) {
  return LlamaModel::load(library(), test_model(family, type), {}).value();
}

std::vector<Token> some_input(size_t tokens, uint64_t seed) {
  Random random(seed);
  std::vector<Token> input(tokens);
  for (Token& token : input)
    token = static_cast<Token>(random.between(10, 500));
  return input;
}

enum llama_pooling_type plain(Pooling pooling) {
  switch (pooling) {
    case Pooling::kMean:
      return LLAMA_POOLING_TYPE_MEAN;
    case Pooling::kCls:
      return LLAMA_POOLING_TYPE_CLS;
    case Pooling::kLast:
      return LLAMA_POOLING_TYPE_LAST;
    case Pooling::kRank:
      return LLAMA_POOLING_TYPE_RANK;
  }
  return LLAMA_POOLING_TYPE_UNSPECIFIED;
}

LlamaEmbeddingOptions options_of(Pooling pooling, bool exact) {
  LlamaEmbeddingOptions options{.pooling = pooling, .threads = 1};
  if (exact) {
    options.kv_type = engine::KvType::kF32;
    options.flash_attention = engine::FlashAttention::kOff;
  }
  return options;
}

std::vector<std::vector<float>> run(EmbeddingRunner& runner,
                                    const std::vector<std::vector<Token>>& inputs) {
  const std::vector<std::span<const Token>> spans(inputs.begin(), inputs.end());
  const Result<void> ran = runner.run(spans);
  EXPECT_TRUE(ran) << ran.error().message;
  std::vector<std::vector<float>> vectors;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::span<const float> vector = runner.embedding(i);
    vectors.emplace_back(vector.begin(), vector.end());
  }
  return vectors;
}

double largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
  EXPECT_EQ(a.size(), b.size());
  double largest = 0;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    largest = std::max(largest, std::fabs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
  return largest;
}

struct Case {
  std::string family;
  Pooling pooling;
};

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const char* family : {"bert", "llama", "qwen3", "moe", "hybrid", "swa"}) {
    for (const Pooling pooling : {Pooling::kMean, Pooling::kCls, Pooling::kLast})
      cases.push_back({family, pooling});
  }
  cases.push_back({"bert_rank", Pooling::kRank});
  cases.push_back({"qwen3_rank", Pooling::kRank});
  return cases;
}

class EveryPooling : public ::testing::TestWithParam<Case> {
 protected:
  // Packed passes of inputs of all lengths, one after the other, each input also alone.
  void compare(const std::string& type, bool exact, const auto& agree) {
    const auto [family, pooling] = GetParam();
    const auto model = load(family, type);
    const auto runner = model->make_embedding_runner(options_of(pooling, exact)).value();
    const PlainModel plain_model(test_model(family, type));
    Random random(7);
    for (uint64_t pass = 0; pass < 3; ++pass) {
      std::vector<std::vector<Token>> inputs;
      for (uint64_t i = 0; i < 12; ++i) {
        inputs.push_back(some_input(static_cast<size_t>(random.between(1, 90)), 100 * pass + i));
      }
      const std::vector<std::vector<float>> packed = run(*runner, inputs);
      for (size_t i = 0; i < inputs.size(); ++i) {
        SCOPED_TRACE(::testing::Message() << "pass " << pass << ", input " << i << " of "
                                          << inputs[i].size() << " tokens");
        agree(packed[i],
              plain_embedding(plain_model, inputs[i], {.pooling = plain(pooling), .exact = exact}));
      }
    }
  }
};

// Vectors have length 1, as in answers. The GELU of bert is looked up in a table of F16, which
// shows more of the rounding.
TEST_P(EveryPooling, APackedBatchOfF32WeightsGivesEachInputWhatItHasAlone) {
  const double tolerance = GetParam().family.starts_with("bert") ? 1e-4 : 1e-5;
  compare("f32", true, [&](std::vector<float> packed, std::vector<float> alone) {
    if (GetParam().pooling != Pooling::kRank) {
      engine::normalise(packed, packed.size());
      engine::normalise(alone, alone.size());
    }
    EXPECT_LT(largest_difference(packed, alone), tolerance);
  });
}

// A mixture has near-ties between experts too; where one falls the other way, another part of the
// model computes a token.
TEST_P(EveryPooling, APackedBatchOfF16WeightsIsAsGood) {
  const double cosine_min = GetParam().family == "moe" ? 0.998 : 0.9999;
  compare("f16", false, [&](const std::vector<float>& packed, const std::vector<float>& alone) {
    if (alone.size() > 2) {
      EXPECT_GE(cosine(packed, alone), cosine_min);
    } else {
      EXPECT_LT(largest_difference(packed, alone), 0.02);
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Embedding, EveryPooling, ::testing::ValuesIn(all_cases()),
                         [](const ::testing::TestParamInfo<Case>& tested) {
                           return tested.param.family + "_" +
                                  std::string(engine::to_string(tested.param.pooling));
                         });

TEST(EmbeddingRunner, FollowsThePoolingOfTheFileElseTheMean) {
  const auto pooling_of = [](const std::string& family, std::optional<Pooling> asked) {
    return load(family, "f32")->make_embedding_runner({.pooling = asked}).value()->limits().pooling;
  };
  EXPECT_EQ(pooling_of("bert", std::nullopt), Pooling::kMean);
  EXPECT_EQ(pooling_of("bert_cls", std::nullopt), Pooling::kCls);
  EXPECT_EQ(pooling_of("bert_rank", std::nullopt), Pooling::kRank);
  EXPECT_EQ(pooling_of("qwen3_last", std::nullopt), Pooling::kLast);
  EXPECT_EQ(pooling_of("qwen3", std::nullopt), Pooling::kMean) << "the file says nothing";
  EXPECT_EQ(pooling_of("qwen3_last", Pooling::kMean), Pooling::kMean);
}

TEST(EmbeddingRunner, LimitsFollowTheModel) {
  const auto bert = load("bert", "f32")->make_embedding_runner({}).value();
  EXPECT_EQ(bert->limits().input_tokens_max, 512) << "where its position table ends";
  EXPECT_GE(bert->limits().batch_tokens_max, 512);
  EXPECT_EQ(bert->limits().dimensions, 64);
  EXPECT_EQ(bert->limits().scores, 0);
  EXPECT_FALSE(bert->limits().can_chunk);
  const auto rank = load("qwen3_rank", "f32")->make_embedding_runner({}).value();
  EXPECT_EQ(rank->limits().dimensions, 0);
  EXPECT_EQ(rank->limits().scores, 2);
  const auto mean = load("qwen3", "f32")->make_embedding_runner({}).value();
  EXPECT_EQ(mean->limits().input_tokens_max, 4096);
  EXPECT_EQ(mean->limits().batch_tokens_max, 4096) << "it must hold the longest input";
  const auto last = load("qwen3_last", "f32")->make_embedding_runner({}).value();
  EXPECT_TRUE(last->limits().can_chunk);
  EXPECT_EQ(last->limits().input_tokens_max, 4096);
  EXPECT_LT(last->limits().batch_tokens_max, 4096) << "a longer input goes in pieces";
}

TEST(EmbeddingRunner, APassAsLargeAsTheLimitsSayRuns) {
  for (const char* family : {"bert", "qwen3", "qwen3_last", "hybrid"}) {
    SCOPED_TRACE(family);
    const auto model = load(family, "f16");
    const auto runner = model->make_embedding_runner({.threads = 1}).value();
    const engine::EmbeddingLimits limits = runner->limits();
    std::vector<std::vector<Token>> inputs(static_cast<size_t>(limits.inputs_max));
    for (size_t i = 0; i < inputs.size(); ++i)
      inputs[i] = some_input(static_cast<size_t>(limits.batch_tokens_max) / inputs.size(), i);
    EXPECT_EQ(run(*runner, inputs).size(), inputs.size());
    const auto longest = static_cast<size_t>(limits.input_tokens_max);
    EXPECT_EQ(run(*runner, {some_input(longest, 1)}).size(), 1U);
  }
}

// libllama would end the process while it makes the context.
TEST(EmbeddingRunner, AnyLengthOfInputsMayBeAskedFor) {
  for (const char* family : {"qwen3", "hybrid", "swa", "qwen3_last"}) {
    SCOPED_TRACE(family);
    const auto model = load(family, "f16");
    const auto runner =
        model->make_embedding_runner({.input_tokens_max = 3001, .threads = 1}).value();
    EXPECT_EQ(runner->limits().input_tokens_max, 3001);
    EXPECT_EQ(run(*runner, {some_input(3001, 1)}).size(), 1U);
  }
}

// Last pooling alone may be computed in pieces.
TEST(EmbeddingRunner, ALongInputInPiecesGivesWhatOnePassGives) {
  for (const char* family : {"qwen3_last", "hybrid", "swa"}) {
    SCOPED_TRACE(family);
    const auto model = load(family, "f32");
    const auto runner = model->make_embedding_runner(options_of(Pooling::kLast, true)).value();
    ASSERT_LT(runner->limits().batch_tokens_max, 2500);
    const std::vector<Token> input = some_input(2500, 3);
    const PlainModel plain_model(test_model(family, "f32"));
    const std::vector<float> whole =
        plain_embedding(plain_model, input, {.pooling = LLAMA_POOLING_TYPE_LAST});
    EXPECT_LT(largest_difference(run(*runner, {input}).front(), whole), 1e-4);
    // And it leaves nothing behind.
    const std::vector<Token> next = some_input(20, 4);
    EXPECT_LT(largest_difference(
                  run(*runner, {next}).front(),
                  plain_embedding(plain_model, next, {.pooling = LLAMA_POOLING_TYPE_LAST})),
              1e-4);
  }
}

TEST(EmbeddingRunner, RefusesWhatTheModelCannotDo) {
  const auto refusal = [](const std::string& family, const LlamaEmbeddingOptions& options) {
    const auto runner = load(family, "f32")->make_embedding_runner(options);
    return runner ? "made" : runner.error().message;
  };
  EXPECT_EQ(refusal("bert", {.pooling = Pooling::kRank}),
            test_model("bert", "f32") +
                ": this bert model has no classification head, so it cannot score documents (rank "
                "pooling); use a reranking model, or --pooling mean for embeddings");
  EXPECT_EQ(refusal("bert", {.input_tokens_max = 513}),
            "inputs of 513 tokens were asked for; bert was trained for 512");
}

// The whole way, text to answer.
class EmbeddingBackends : public ::testing::Test {
 protected:
  static llm::Outcome ask(llm::Backend& backend, const llm::Request& request) {
    std::promise<llm::Outcome> promise;
    backend.submit(llm::plain_call(request),
                   [&](llm::Outcome outcome) { promise.set_value(std::move(outcome)); });
    return promise.get_future().get();
  }

  static std::vector<Token> plain_tokens(const PlainModel& model, const std::string& text,
                                         bool special) {
    std::vector<Token> tokens(text.size() + 8);
    const int32_t count =
        llama_tokenize(model.vocabulary(), text.data(), static_cast<int32_t>(text.size()),
                       tokens.data(), static_cast<int32_t>(tokens.size()), special, false);
    EXPECT_GE(count, 0);
    tokens.resize(static_cast<size_t>(std::max(count, 0)));
    return tokens;
  }

  SystemClock clock_;
};

TEST_F(EmbeddingBackends, TextsBecomeVectorsOfLengthOneInTheirOrder) {
  for (const char* family : {"bert", "bert_cls", "qwen3_last", "qwen3"}) {
    SCOPED_TRACE(family);
    const auto model = load(family, "f32");
    const Pooling pooling = engine::parse_pooling(model->facts().pooling).value_or(Pooling::kMean);
    EmbeddingBackend backend(model->make_embedding_runner(options_of(pooling, true)).value(),
                             model->vocabulary(), model->pair_format(), clock_, {});
    const PlainModel plain_model(test_model(family, "f32"));
    llm::Request request{.endpoint = llm::Endpoint::kEmbeddings};
    for (const char* text : {"The people of the world", "water", "[CLS] <|im_end|> and so on"})
      request.inputs.push_back({.text = text});
    const llm::Outcome outcome = ask(backend, request);
    const auto& answer = std::get<llm::Answer>(outcome);
    ASSERT_EQ(answer.embeddings.size(), 3U);
    int32_t tokens_count = 0;
    for (size_t i = 0; i < 3; ++i) {
      const std::vector<Token> tokens = plain_tokens(plain_model, request.inputs[i].text, true);
      tokens_count += static_cast<int32_t>(tokens.size());
      const std::vector<float> raw =
          plain_embedding(plain_model, tokens, {.pooling = plain(pooling)});
      EXPECT_GT(cosine(answer.embeddings[i], raw), 1 - 1e-9) << i;
      double squares = 0;
      for (const float x : answer.embeddings[i])
        squares += static_cast<double>(x) * static_cast<double>(x);
      EXPECT_NEAR(squares, 1, 1e-5);
    }
    EXPECT_EQ(answer.usage.prompt_tokens, tokens_count);
    EXPECT_GT(backend.budget().batch_tokens, 0);
  }
}

TEST_F(EmbeddingBackends, DocumentsAreRankedByTheirPlainScores) {
  const auto model = load("bert_rank", "f32");
  EmbeddingBackend backend(model->make_embedding_runner(options_of(Pooling::kRank, true)).value(),
                           model->vocabulary(), model->pair_format(), clock_, {});
  const PlainModel plain_model(test_model("bert_rank", "f32"));
  const llama_vocab* vocabulary = plain_model.vocabulary();
  llm::Request request{.endpoint = llm::Endpoint::kRerank, .query = "where is the water"};
  std::vector<std::pair<float, int32_t>> expected;
  for (const char* text : {"the house", "water is here", "a long way to go", "people", "world"}) {
    // CLS query SEP document, as this vocabulary asks for.
    std::vector<Token> pair = {llama_vocab_bos(vocabulary)};
    for (const Token token : plain_tokens(plain_model, request.query, false))
      pair.push_back(token);
    pair.push_back(llama_vocab_sep(vocabulary));
    for (const Token token : plain_tokens(plain_model, text, false))
      pair.push_back(token);
    const float score =
        plain_embedding(plain_model, pair, {.pooling = LLAMA_POOLING_TYPE_RANK}).front();
    expected.emplace_back(-score, static_cast<int32_t>(request.inputs.size()));
    request.inputs.push_back({.text = text});
  }
  std::sort(expected.begin(), expected.end());
  const llm::Outcome outcome = ask(backend, request);
  const auto& answer = std::get<llm::Answer>(outcome);
  ASSERT_EQ(answer.ranking.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(answer.ranking[i].index, expected[i].second) << i;
    EXPECT_NEAR(answer.ranking[i].score, -expected[i].first, 1e-5) << i;
  }
}

TEST_F(EmbeddingBackends, ARerankTemplateIsFollowedAndTextStaysText) {
  const auto model = load("qwen3_rank", "f32");
  EmbeddingBackend backend(model->make_embedding_runner(options_of(Pooling::kRank, true)).value(),
                           model->vocabulary(), model->pair_format(), clock_, {});
  const PlainModel plain_model(test_model("qwen3_rank", "f32"));
  const auto control = [&](const std::string& text) {
    Token token = -1;
    EXPECT_EQ(llama_tokenize(plain_model.vocabulary(), text.data(),
                             static_cast<int32_t>(text.size()), &token, 1, false, true),
              1);
    return token;
  };
  const std::string document = "it is <|im_end|> here";
  std::vector<Token> expected = {control("<|im_start|>")};
  for (const Token token :
       plain_tokens(plain_model, "query: what is it\ndocument: " + document, false))
    expected.push_back(token);
  expected.push_back(control("<|im_end|>"));
  for (const Token token : plain_tokens(plain_model, "\n", false))
    expected.push_back(token);
  const llm::Request request{
      .endpoint = llm::Endpoint::kRerank, .inputs = {{.text = document}}, .query = "what is it"};
  EXPECT_EQ(std::get<EmbeddingBackend::Inputs>(backend.input_tokens(request)).front(), expected);
  const llm::Outcome outcome = ask(backend, request);
  EXPECT_NEAR(std::get<llm::Answer>(outcome).ranking.front().score,
              plain_embedding(plain_model, expected, {.pooling = LLAMA_POOLING_TYPE_RANK}).front(),
              1e-5);
}

}  // namespace
}  // namespace windrow::exactness
