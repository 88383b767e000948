#include "sim_upstream/model_call.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace windrow::sim_upstream {
namespace {

ModelCall call(Endpoint endpoint, std::string_view body) {
  Result<ModelCall> call = read_call(endpoint, body);
  EXPECT_TRUE(call.has_value()) << body;
  return call ? *std::move(call) : ModelCall{};
}

std::string refused(Endpoint endpoint, std::string_view body) {
  const Result<ModelCall> call = read_call(endpoint, body);
  return call ? "accepted" : call.error().message;
}

TEST(ModelCall, AChatIsOnePrompt) {
  const ModelCall chat = call(Endpoint::kChat,
                              R"({"model":"m","messages":[{"role":"system","content":"Be brief."},
          {"role":"user","content":[{"type":"text","text":"What is"},
          {"type":"text","text":" it?"}]}],
          "max_tokens":7,"n":2,"temperature":0.5,"vendor_field":[1]})");
  EXPECT_EQ(chat.model, "m");
  ASSERT_EQ(chat.prompts.size(), 1U);
  EXPECT_EQ(chat.prompts[0].text, "system\nBe brief.\nuser\nWhat is it?\n");
  EXPECT_EQ(chat.prompts[0].tokens, 9);
  EXPECT_EQ(chat.question, "What is it?");
  EXPECT_EQ(chat.answer_tokens_max, 7);
  EXPECT_EQ(chat.choices, 2);
}

TEST(ModelCall, InputsAreTextsOrTokenIdsOrListsOfThem) {
  EXPECT_EQ(call(Endpoint::kCompletions, R"({"model":"m","prompt":"12345"})").prompt_tokens(), 2);
  EXPECT_EQ(call(Endpoint::kCompletions, R"({"model":"m","prompt":[5,6,7]})").prompts[0].tokens, 3);
  const ModelCall embeddings =
      call(Endpoint::kEmbeddings,
           R"({"model":"m","input":["a",[1,2],"c"],"encoding_format":"base64","dimensions":4})");
  EXPECT_EQ(embeddings.prompts.size(), 3U);
  EXPECT_EQ(embeddings.prompt_tokens(), 4);
  EXPECT_TRUE(embeddings.base64);
  EXPECT_EQ(embeddings.dimensions, 4);
}

TEST(ModelCall, AWantedFormIsRead) {
  EXPECT_FALSE(call(Endpoint::kCompletions, R"({"model":"m","prompt":"a"})").wants_json);
  const ModelCall schema = call(Endpoint::kChat,
                                R"({"model":"m","messages":[{"role":"user","content":"a"}],
          "response_format":{"type":"json_schema","json_schema":{"schema":{"type":"string"}}}})");
  EXPECT_TRUE(schema.wants_json);
  EXPECT_EQ(schema.schema.at("type"), "string");
  for (const char* guidance : {R"("guided_json":{"type":"null"})",
                               R"("structured_outputs":{"json":"{\"type\":\"null\"}"})"}) {
    const ModelCall guided =
        call(Endpoint::kCompletions, fmt::format(R"({{"model":"m","prompt":"a",{}}})", guidance));
    EXPECT_TRUE(guided.wants_json);
    EXPECT_EQ(guided.schema.at("type"), "null");
  }
}

TEST(ModelCall, WhatAServerWouldRefuseIsRefused) {
  EXPECT_TRUE(refused(Endpoint::kChat, "{").starts_with("the body is no JSON"));
  EXPECT_EQ(refused(Endpoint::kChat, "[]"), "the body must be a JSON object");
  EXPECT_EQ(refused(Endpoint::kChat, R"({"messages":[]})"), "model must be a text");
  EXPECT_EQ(refused(Endpoint::kChat, R"({"model":"m","messages":[]})"),
            "messages must be a list of at least one message");
  EXPECT_EQ(refused(Endpoint::kChat, R"({"model":"m","messages":["hi"]})"),
            "every message must have a role");
  EXPECT_EQ(refused(Endpoint::kCompletions, R"({"model":"m"})"), "prompt is missing");
  EXPECT_EQ(refused(Endpoint::kEmbeddings, R"({"model":"m","input":[]})"),
            "input must have from 1 to 4096 texts");
  EXPECT_EQ(refused(Endpoint::kEmbeddings, R"({"model":"m","input":[{}]})"),
            "input must be a text, token ids, or a list of either");
  EXPECT_EQ(refused(Endpoint::kCompletions, R"({"model":"m","prompt":"a","max_tokens":-1})"),
            "max_tokens is -1; it must be a whole number from 0 to 1099511627776");
  EXPECT_EQ(refused(Endpoint::kCompletions, R"({"model":"m","prompt":"a","stream":1})"),
            "stream must be true or false");
}

}  // namespace
}  // namespace windrow::sim_upstream
