#include "upstream/ollama_context.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include "llm/raw_body.h"

namespace windrow::upstream {
namespace {

namespace json = boost::json;
using testing::AllOf;
using testing::HasSubstr;

constexpr const char* kPs = R"({"models":[
    {"name":"qwen3:8b","model":"qwen3:8b","context_length":4096},
    {"name":"llama3:latest","model":"llama3:latest","context_length":8192},
    {"name":"old:1b"}]})";

llm::Request raw(llm::Endpoint endpoint, const std::string& body) {
  return llm::raw_request(endpoint, body, json::parse(body).as_object(), {});
}

llm::Request chat(const std::string& text) {
  const json::object body{
      {"model", "m"}, {"messages", json::array{json::object{{"role", "user"}, {"content", text}}}}};
  return raw(llm::Endpoint::kChatCompletions, json::serialize(body));
}

// Text without runs: every five bytes of it are different.
std::string text(size_t bytes) {
  std::string result;
  for (size_t i = 0; i < bytes; ++i)
    result += static_cast<char>('a' + i % 26);
  return result;
}

TEST(OllamaContext, IsReadFromWhatIsLoaded) {
  EXPECT_EQ(loaded_context(kPs, "qwen3:8b"), 4096);
  EXPECT_EQ(loaded_context(kPs, "llama3"), 8192);
  EXPECT_EQ(loaded_context(kPs, "qwen3"), 0);
  EXPECT_EQ(loaded_context(kPs, "old:1b"), 0);
  for (const char* body : {"", "[]", "{}", R"({"models":7})", R"({"models":[7]})"})
    EXPECT_EQ(loaded_context(body, "m"), 0) << body;
}

TEST(OllamaContext, ShowAddsWhatTheModelfileSays) {
  constexpr const char* kShow = R"({"parameters":"num_keep      24\nnum_ctx       16384\n",
      "details":{"format":"gguf"},"model_info":{"llama.context_length":8192}})";
  EXPECT_EQ(context_of(kShow, 4096).tokens, 4096);
  EXPECT_EQ(context_of(kShow, 4096).keep, 24);
  EXPECT_EQ(context_of(kShow, 0).tokens, 8192);
  EXPECT_EQ(context_of(R"({"model_info":{"x.context_length":512}})", 0).tokens, 512);
  EXPECT_EQ(context_of("", 4096).tokens, 4096);
  EXPECT_EQ(context_of("", 4096).keep, 4);
  // Another runner, which cuts nothing.
  EXPECT_EQ(context_of(R"({"details":{"format":"safetensors"}})", 4096).tokens, 0);
}

TEST(OllamaContext, CountsNoMoreTokensThanAnyVocabularyWould) {
  EXPECT_EQ(prompt_tokens_at_least(chat(text(1200))), 100);
  // Runs may be a token each.
  EXPECT_EQ(prompt_tokens_at_least(chat(std::string(100'000, ' '))), 0);
  std::string rulers;
  for (int i = 0; i < 10'000; ++i)
    rulers += "\u2500";
  EXPECT_EQ(prompt_tokens_at_least(chat(rulers)), 0);
  // An escape is not its length, an image no text.
  std::string umlauts;
  for (int i = 0; i < 600; ++i)
    umlauts += "\\u00e4\\u00f6";
  EXPECT_LE(prompt_tokens_at_least(
                raw(llm::Endpoint::kChatCompletions,
                    R"({"messages":[{"role":"user","content":")" + umlauts + R"("}]})")),
            200);
  EXPECT_EQ(
      prompt_tokens_at_least(raw(
          llm::Endpoint::kChatCompletions,
          R"({"messages":[{"role":"user","content":[{"type":"text","text":")" + text(120) +
              R"("},{"type":"image_url","image_url":{"url":"data:)" + text(90'000) + R"("}}]}]})")),
      10);
}

TEST(OllamaContext, TheLongestOfSeveralPromptsCounts) {
  EXPECT_EQ(prompt_tokens_at_least(raw(llm::Endpoint::kCompletions, R"({"prompt":[1,2,3]})")), 3);
  EXPECT_EQ(prompt_tokens_at_least(
                raw(llm::Endpoint::kEmbeddings, R"({"input":["a",")" + text(240) + R"("]})")),
            20);
  EXPECT_EQ(
      prompt_tokens_at_least(raw(llm::Endpoint::kCompletions, R"({"prompt":[[1,2],[1,2,3,4]]})")),
      4);
  EXPECT_EQ(prompt_tokens_at_least(raw(llm::Endpoint::kChatCompletions, "{}")), 0);
}

TEST(OllamaContext, WhatSurelyDoesNotFitIsNotSent) {
  const OllamaContext context{.tokens = 100};
  EXPECT_FALSE(too_long(chat(text(1200)), context, "http://h"));
  const auto failure = too_long(chat(text(1300)), context, "http://h");
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->failure_class, llm::FailureClass::kRequest);
  EXPECT_EQ(failure->code, "context_length_exceeded");
  EXPECT_THAT(failure->message,
              AllOf(HasSubstr("at least 108"), HasSubstr("maximum context length is 100 tokens"),
                    HasSubstr("OLLAMA_CONTEXT_LENGTH"), HasSubstr("num_ctx")));
  EXPECT_EQ(failure->prompt_excess, (llm::PromptExcess{.tokens = 108, .tokens_max = 100}));
  EXPECT_FALSE(too_long(chat(text(99'000)), {}, "http://h"));
}

PromptFate fate(int64_t prompt_tokens, int64_t body_bytes, const OllamaContext& context,
                const BytesPerToken& others = {}) {
  return fate_of(chat("x"), body_bytes, prompt_tokens, context, others);
}

TEST(OllamaContext, ACutPromptShowsInTheTokensThatWereRead) {
  // Figures that users reported of real servers: context, keep -> prompt tokens.
  struct Case {
    int64_t context;
    int64_t keep;
    int64_t read;
  };
  for (const Case& one : {Case{4096, 4, 2050}, Case{65'536, 4, 32'770}, Case{8192, 4, 4098},
                          Case{4096, 4, 2051}, Case{8192, 4, 4099}, Case{24'576, 4, 12'291}}) {
    const OllamaContext context{.tokens = one.context, .keep = one.keep};
    EXPECT_EQ(fate(one.read, 10 * one.read, context), PromptFate::kCut) << one.read;
    EXPECT_EQ(fate(one.read + 2, 10 * one.read, context), PromptFate::kWhole) << one.read;
    EXPECT_EQ(fate(one.read - 2, 10 * one.read, context), PromptFate::kWhole) << one.read;
  }
  // Older servers fill the context.
  EXPECT_EQ(fate(2048, 9000, {.tokens = 2048}), PromptFate::kCut);
  EXPECT_EQ(fate(2047, 9000, {.tokens = 2048}), PromptFate::kCut);
  EXPECT_EQ(fate(2046, 9000, {.tokens = 2048}), PromptFate::kWhole);
  EXPECT_EQ(fate(2049, 9000, {.tokens = 2048}), PromptFate::kContextWrong);
  EXPECT_EQ(fate(2050, 9000, {}), PromptFate::kWhole);
  EXPECT_EQ(fate(0, 9000, {.tokens = 4096}), PromptFate::kWhole);
}

TEST(OllamaContext, ChanceIsToldFromACutByWhatOthersNeed) {
  const OllamaContext context{.tokens = 4096};
  BytesPerToken others;
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(others.mean(), 0);
    others.add(4000, 1000);
  }
  EXPECT_EQ(others.mean(), 4);
  // 2,050 tokens of 8,300 bytes are what such bytes are; of 16,400 there were twice as many.
  EXPECT_EQ(fate(2050, 8300, context, others), PromptFate::kWhole);
  EXPECT_EQ(fate(2050, 16'400, context, others), PromptFate::kCut);
  // Where nothing can be compared the row fails rather than be wrong.
  EXPECT_EQ(fate(2050, 8300, context), PromptFate::kCut);
  EXPECT_EQ(fate(2050, 0, context, others), PromptFate::kCut);
  EXPECT_EQ(fate(2050, 3000, context), PromptFate::kWhole);
}

TEST(OllamaContext, EmbeddingsAreCutToTheContext) {
  const auto embedding = [](const std::string& input, int64_t tokens) {
    return fate_of(raw(llm::Endpoint::kEmbeddings, R"({"input":)" + input + "}"), 9000, tokens,
                   {.tokens = 512}, {});
  };
  EXPECT_EQ(embedding(R"("a")", 512), PromptFate::kCut);
  EXPECT_EQ(embedding(R"("a")", 511), PromptFate::kCut);
  EXPECT_EQ(embedding(R"("a")", 300), PromptFate::kWhole);
  EXPECT_EQ(embedding(R"(["a","b"])", 900), PromptFate::kWhole);
}

TEST(OllamaContext, TheAnswerGoesWithTheFailure) {
  llm::Answer answer;
  answer.raw = R"({"id":1})";
  answer.usage.prompt_tokens = 2050;
  const llm::Failure failure = cut_failure(answer, "qwen", {.tokens = 4096}, "http://h");
  EXPECT_EQ(failure.failure_class, llm::FailureClass::kRequest);
  EXPECT_EQ(failure.raw, answer.raw);
  EXPECT_EQ(failure.usage.prompt_tokens, 2050);
  EXPECT_THAT(failure.message,
              AllOf(HasSubstr("4,096"), HasSubstr("2,050"), HasSubstr("FROM qwen")));
}

}  // namespace
}  // namespace windrow::upstream
