#include "program/models/generate_request.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace windrow::program {
namespace {

const ContextModel kModel{.name = "small", .tokenizer = nullptr};

Prompt chat() {
  return {.chat = {.messages = {{{"role", "user"}, {"content", "hi"}}}}, .tokens = {5, 6, 7}};
}

TEST(GenerateRequest, AChatIsAskedByItsTokens) {
  const llm::Request request = generate_request(kModel, chat(),
                                                {.output_tokens_max = 9,
                                                 .temperature = 0.5F,
                                                 .top_p = 0.9F,
                                                 .top_k = 40,
                                                 .min_p = 0.1F,
                                                 .seed = 17,
                                                 .stop = {"\n"}},
                                                100);
  EXPECT_EQ(request.endpoint, llm::Endpoint::kChatCompletions);
  EXPECT_EQ(request.model, "small");
  EXPECT_EQ(request.chat_tokens, (std::vector<int32_t>{5, 6, 7}));
  EXPECT_EQ(request.chat.messages, chat().chat.messages) << "the answer is read as one to them";
  EXPECT_TRUE(request.inputs.empty());
  EXPECT_EQ(request.output_tokens_max, 9);
  EXPECT_EQ(request.sampling.temperature, 0.5F);
  EXPECT_EQ(request.sampling.top_p, 0.9F);
  EXPECT_EQ(request.sampling.top_k, 40);
  EXPECT_EQ(request.sampling.min_p, 0.1F);
  EXPECT_EQ(request.sampling.seed, 17U);
  EXPECT_EQ(request.stop, std::vector<std::string>{"\n"});
  EXPECT_TRUE(request.return_token_ids);
  EXPECT_FALSE(request.structured);
  EXPECT_FALSE(request.reasoning_tokens_max);
}

TEST(GenerateRequest, WhatIsNotSaidIsTheDefault) {
  const llm::Request request = generate_request(kModel, chat(), {.top_k = -1}, 100);
  EXPECT_EQ(request.output_tokens_max, 100);
  EXPECT_EQ(request.sampling.temperature, llm::Sampling().temperature);
  EXPECT_EQ(request.sampling.top_p, llm::Sampling().top_p);
  EXPECT_EQ(request.sampling.top_k, 0) << "all tokens, in the engine's words";
}

TEST(GenerateRequest, RawTextIsACompletion) {
  Prompt prompt{.tokens = {1, 2}, .is_raw = true};
  const llm::Request request =
      generate_request(kModel, std::move(prompt), {.thought_tokens_max = 5}, 100);
  EXPECT_EQ(request.endpoint, llm::Endpoint::kCompletions);
  ASSERT_EQ(request.inputs.size(), 1U);
  EXPECT_EQ(request.inputs[0].tokens, (std::vector<int32_t>{1, 2}));
  EXPECT_TRUE(request.chat_tokens.empty());
  EXPECT_FALSE(request.reasoning_tokens_max) << "a text has no thoughts";
}

TEST(GenerateRequest, AStructureIsNamedAsProgramsNameIt) {
  using Kind = llm::StructureSpec::Kind;
  const auto param = [](Kind kind, std::string own = "") {
    GenerateOptions options;
    options.structured = {.kind = kind, .choices = {"a"}, .param = std::move(own)};
    return generate_request(kModel, chat(), options, 100).structured->param;
  };
  EXPECT_EQ(param(Kind::kJsonSchema), "schema");
  EXPECT_EQ(param(Kind::kRegex), "regex");
  EXPECT_EQ(param(Kind::kChoice), "choice");
  EXPECT_EQ(param(Kind::kRegex, "pattern"), "pattern");
}

TEST(GenerateRequest, ThinkingIsAWishUnlessTheChatHasOne) {
  GenerateOptions options{.thinking = false, .thought_tokens_max = 5};
  const llm::Request plain = generate_request(kModel, chat(), options, 100);
  EXPECT_EQ(plain.chat.wishes, (boost::json::object{{"enable_thinking", false}}));
  EXPECT_EQ(plain.reasoning_tokens_max, 5);
  Prompt own = chat();
  own.chat.template_arguments["enable_thinking"] = true;
  EXPECT_TRUE(generate_request(kModel, own, options, 100).chat.wishes.empty());
}

std::string fault(const GenerateOptions& options) {
  const auto failure = fault_of(options);
  if (!failure) return "";
  EXPECT_EQ(failure->code, "invalid_value");
  EXPECT_EQ(failure->status, 400);
  EXPECT_TRUE(failure->message.starts_with(failure->param + " of generate is "))
      << failure->message;
  return failure->param;
}

TEST(GenerateFault, OptionsThatNoModelCanFollowAreRefusedByName) {
  constexpr float kNoNumber = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(fault({.output_tokens_max = 0}), "max_tokens");
  EXPECT_EQ(fault({.temperature = -0.1F}), "temperature");
  EXPECT_EQ(fault({.temperature = 2.1F}), "temperature");
  EXPECT_EQ(fault({.temperature = kNoNumber}), "temperature");
  EXPECT_EQ(fault({.top_p = 0.0F}), "top_p");
  EXPECT_EQ(fault({.top_p = 1.5F}), "top_p");
  EXPECT_EQ(fault({.top_p = kNoNumber}), "top_p");
  EXPECT_EQ(fault({.top_k = -2}), "top_k");
  EXPECT_EQ(fault({.min_p = -0.5F}), "min_p");
  EXPECT_EQ(fault({.stop = {"a", ""}}), "stop");
  EXPECT_EQ(fault({.stop = std::vector<std::string>(17, "a")}), "stop");
  EXPECT_EQ(fault({.thought_tokens_max = -1}), "thought_tokens");
  GenerateOptions none;
  none.structured = {.kind = llm::StructureSpec::Kind::kChoice};
  EXPECT_EQ(fault(none), "choice");
  none.structured->choices = {"yes", ""};
  EXPECT_EQ(fault(none), "choice");
}

TEST(GenerateFault, TheBoundsThemselvesAreFine) {
  EXPECT_EQ(fault({}), "");
  EXPECT_EQ(fault({.output_tokens_max = 1,
                   .temperature = 0.0F,
                   .top_p = 1.0F,
                   .top_k = -1,
                   .min_p = 0.0F,
                   .stop = std::vector<std::string>(16, "a"),
                   .thought_tokens_max = 0}),
            "");
  EXPECT_EQ(fault({.temperature = 2.0F, .min_p = 1.0F}), "");
}

}  // namespace
}  // namespace windrow::program
