#include "batch/row_planner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json/parse.hpp>
#include <string>
#include <string_view>

#include "base/random.h"

namespace windrow::batch {
namespace {

const std::string kBlock(kPromptBlockBytes, 'x');

llm::Request completion(std::string text) {
  llm::Request request;
  request.endpoint = llm::Endpoint::kCompletions;
  request.model = "m";
  request.inputs = {{.text = std::move(text)}};
  return request;
}

llm::Request tokens(std::vector<int32_t> prompt) {
  llm::Request request = completion("");
  request.inputs[0].tokens = std::move(prompt);
  return request;
}

llm::Request chat(std::string_view messages, std::string_view tools = "[]",
                  std::string_view arguments = "{}") {
  llm::Request request;
  request.endpoint = llm::Endpoint::kChatCompletions;
  request.model = "m";
  request.chat.messages = boost::json::parse(messages).as_array();
  request.chat.tools = boost::json::parse(tools).as_array();
  request.chat.template_arguments = boost::json::parse(arguments).as_object();
  return request;
}

// Blocks of prompts, without the number for endpoint and model.
size_t shared(const llm::Request& one, const llm::Request& other) {
  const size_t blocks = shared_blocks(prompt_key(one), prompt_key(other));
  return std::max(blocks, size_t{1}) - 1;
}

TEST(PromptKey, SeesWholeBlocksThatPromptsShare) {
  EXPECT_EQ(shared(completion("one"), completion("one")), 0U);
  EXPECT_EQ(shared(completion(kBlock + "one"), completion(kBlock + "two")), 1U);
  EXPECT_EQ(shared(completion(kBlock + kBlock + "1"), completion(kBlock + "y" + kBlock)), 1U);
  EXPECT_EQ(shared(completion("y" + kBlock + kBlock), completion("z" + kBlock + kBlock)), 0U);
  EXPECT_EQ(shared(completion(kBlock), completion(kBlock + kBlock)), 1U);
}

TEST(PromptKey, OtherEndpointsAndModelsShareNothing) {
  llm::Request other = completion(kBlock);
  other.model = "n";
  EXPECT_EQ(shared_blocks(prompt_key(completion(kBlock)), prompt_key(other)), 0U);
  const PromptKey of_chat = prompt_key(chat(R"([{"role":"user","content":"one"}])"));
  EXPECT_EQ(shared_blocks(prompt_key(completion("one")), of_chat), 0U);
  EXPECT_EQ(of_chat.blocks.size(), 1U);
}

TEST(PromptKey, EmbeddingsAndRerankHaveNothingToShare) {
  llm::Request request = completion(kBlock);
  request.endpoint = llm::Endpoint::kEmbeddings;
  EXPECT_TRUE(prompt_key(request).blocks.empty());
  request.endpoint = llm::Endpoint::kRerank;
  EXPECT_TRUE(prompt_key(request).blocks.empty());
}

// Rows that are scored go side by side as rows that are answered do.
TEST(PromptKey, APromptThatIsOnlyScoredBeginsAsOneThatIsAnswered) {
  llm::Request scored = completion(kBlock + kBlock + "one");
  scored.echo = true;
  scored.output_tokens_max = 0;
  scored.logprobs_top = 1;
  EXPECT_EQ(prompt_key(scored).blocks, prompt_key(completion(kBlock + kBlock + "one")).blocks);
  EXPECT_EQ(shared(scored, completion(kBlock + kBlock + "two")), 2U);
}

TEST(PromptKey, TokensArePromptsToo) {
  std::vector<int32_t> one(20, 7);
  std::vector<int32_t> other = one;
  EXPECT_EQ(shared(tokens(one), tokens(other)), 2U);
  other[8] = 8;
  EXPECT_EQ(shared(tokens(one), tokens(other)), 1U);
}

TEST(PromptKey, SeveralPromptsFollowOneAnother) {
  llm::Request one = completion(kBlock);
  llm::Request other = one;
  one.inputs.push_back({.text = kBlock + "a"});
  other.inputs.push_back({.text = kBlock + "b"});
  EXPECT_EQ(shared(one, other), 2U);
}

TEST(PromptKey, AChatIsItsToolsArgumentsAndMessages) {
  const std::string system = R"([{"role":"system","content":")" + kBlock + kBlock + kBlock + "\"}";
  const auto asks = [&](std::string_view question) {
    return system + R"(,{"role":"user","content":")" + std::string(question) + "\"}]";
  };
  EXPECT_EQ(shared(chat(asks("one")), chat(asks("two"))), 3U);
  // However a message is laid out.
  const std::string turned =
      R"([{"content":")" + kBlock + kBlock + kBlock + R"(","role":"system"}])";
  EXPECT_EQ(shared(chat(asks("one")), chat(turned)), 3U);
  // The role counts, and so does what comes before the messages.
  const std::string user = R"([{"role":"user","content":")" + kBlock + kBlock + kBlock + "\"}]";
  EXPECT_EQ(shared(chat(asks("one")), chat(user)), 0U);
  const auto with_tool = [&](std::string_view name) {
    return chat(asks("one"),
                R"([{"type":"function","function":{"name":")" + std::string(name) + R"("}}])");
  };
  EXPECT_EQ(shared(with_tool("find"), chat(asks("one"))), 0U);
  EXPECT_EQ(shared(with_tool("find"), with_tool("seek")), 1U);
  EXPECT_GE(shared(with_tool("find"), with_tool("find")), 5U);
  EXPECT_EQ(shared(chat(asks("1"), "[]", R"({"t":1})"), chat(asks("1"), "[]", R"({"t":2})")), 0U);
}

TEST(PromptKey, WhateverElseAMessageHoldsIsPartOfIt) {
  const auto calls = [](std::string_view arguments) {
    return chat(R"([{"role":"assistant","content":null,"tool_calls":[{"type":"function",)"
                R"("function":{"name":"find","arguments":")" +
                std::string(arguments) + R"("}}]},{"role":"tool","content":")" + kBlock + "\"}]");
  };
  const PromptKey one = prompt_key(calls("a"));
  EXPECT_LT(shared_blocks(one, prompt_key(calls("b"))), one.blocks.size());
  EXPECT_EQ(shared_blocks(one, prompt_key(calls("a"))), one.blocks.size());
}

TEST(PromptKey, IsSmallBesideThePrompt) {
  const PromptKey key = prompt_key(completion(std::string(100'000, 'x')));
  EXPECT_EQ(key.prompt_bytes, 100'001U);
  EXPECT_LE(key.bytes(), 100'001U / 8 + sizeof(uint32_t));
}

TEST(PromptKey, SharesWhatTheTextsShare) {
  Random random(11);
  for (int round = 0; round < 500; ++round) {
    std::string one;
    for (uint64_t size = random.below(300); size > 0; --size)
      one += static_cast<char>('a' + random.below(26));
    std::string other = one.substr(0, random.below(one.size() + 1));
    other += "#";
    const auto common = std::ranges::mismatch(one, other).in1 - one.begin();
    EXPECT_EQ(shared(completion(one), completion(other)),
              static_cast<size_t>(common) / kPromptBlockBytes);
  }
}

TEST(PromptKey, ARawBodyIsComparedWithoutBeingRead) {
  const auto raw = [](std::string_view user) {
    llm::Request request;
    request.raw = R"({"temperature":0,"messages":[{"role":"system","content":")" + kBlock + kBlock +
                  R"("},{"role":"user","content":")" + std::string(user) + R"("}]})";
    return request;
  };
  EXPECT_EQ(shared(raw("a"), raw("a")), shared(raw("a"), raw("b")));
  EXPECT_GE(shared(raw("a"), raw("b")), 2U);
}

}  // namespace
}  // namespace windrow::batch
