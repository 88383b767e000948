#include "api/pages/tokenizer_pages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "api/testing/byte_tokenizer.h"
#include "api/testing/server_rig.h"
#include "json/values.h"

namespace windrow::api {
namespace {

namespace json = boost::json;
using testing::ByteTokenizer;
using ::testing::HasSubstr;
using testing::post;
using testing::Reply;

std::shared_ptr<llm::LazyTokenizer> byte_tokenizer() {
  return std::make_shared<llm::LazyTokenizer>(
      []() -> Result<std::shared_ptr<const llm::Tokenizer>> {
        return std::make_shared<const ByteTokenizer>();
      });
}

// A server with the model "m".
class TokenizerPages : public ::testing::Test {
 protected:
  explicit TokenizerPages(std::shared_ptr<llm::LazyTokenizer> tokenizer = byte_tokenizer()) {
    rig_.registry.add({.name = "m",
                       .dispatcher = &rig_.dispatcher,
                       .endpoints = testing::kAllEndpoints,
                       .context_tokens = 100,
                       .tokenizer = std::move(tokenizer)});
    rig_.registry.set_state(ServeState::kReady);
  }

  Reply ask(std::string_view path, std::string_view body) { return rig_.ask(post(path, body)); }

  // The JSON of a reply that is none of an error.
  json::value asked(std::string_view path, std::string_view body) {
    const Reply reply = ask(path, body);
    EXPECT_EQ(reply.status, 200) << reply.body;
    return reply.json();
  }

  void expect_refused(std::string_view path, std::string_view body, std::string_view code,
                      std::string_view param, std::string_view words) {
    const Reply reply = ask(path, body);
    EXPECT_EQ(reply.status, 400) << body << reply.body;
    if (reply.status != 400) return;
    EXPECT_EQ(text_in(reply.error().as_object(), "code"), code) << body;
    EXPECT_EQ(text_in(reply.error().as_object(), "param"), param) << body;
    EXPECT_THAT(std::string(reply.error().at("message").as_string()), HasSubstr(std::string(words)))
        << body;
  }

  testing::ServerRig rig_;
};

TEST_F(TokenizerPages, TokenizesInTheFormOfLlamaServer) {
  EXPECT_EQ(asked("/tokenize", R"({"content":"hi"})"), json::parse(R"({"tokens":[104,105]})"));
  EXPECT_EQ(asked("/tokenize", R"({"content":"h<s>","add_special":true})"),
            json::parse(R"({"tokens":[256,104,256,257]})"));
  EXPECT_EQ(asked("/tokenize", R"({"content":"<s>","parse_special":false})"),
            json::parse(R"({"tokens":[60,115,62]})"));
  EXPECT_EQ(asked("/tokenize", R"({"content":""})"), json::parse(R"({"tokens":[]})"));
}

TEST_F(TokenizerPages, PiecesAreTextsOrBytesWhereACharacterIsCut) {
  EXPECT_EQ(asked("/tokenize", R"({"content":"aé","with_pieces":true})"),
            json::parse(R"({"tokens":[{"id":97,"piece":"a"},{"id":195,"piece":[195]},
                                      {"id":169,"piece":[169]}]})"));
}

TEST_F(TokenizerPages, TokenizesInTheFormOfVllm) {
  EXPECT_EQ(asked("/tokenize", R"({"model":"m","prompt":"hi"})"),
            json::parse(
                R"({"count":4,"max_model_len":100,"tokens":[256,104,105,257],"token_strs":null})"));
  EXPECT_EQ(
      asked("/tokenize", R"({"prompt":"hi","add_special_tokens":false,"return_token_strs":true})"),
      json::parse(R"({"count":2,"max_model_len":100,"tokens":[104,105],
                            "token_strs":["h","i"]})"));
  const json::value chat =
      asked("/tokenize", R"({"messages":[{"role":"user","content":"x"}],"return_token_strs":true,
                             "add_generation_prompt":false})");
  EXPECT_EQ(chat.at("count"), 9);
  EXPECT_EQ(json::serialize(chat.at("token_strs")), R"(["<s>","u","s","e","r",":"," ","x","\n"])");
}

TEST_F(TokenizerPages, WhatIsTokenizedIsDetokenized) {
  const std::string text = "Zoë said: <s>\n\"yes\" 漢字";
  const json::value tokens =
      asked("/tokenize", json::serialize(json::object{{"content", text}})).at("tokens");
  const json::value back =
      asked("/detokenize", json::serialize(json::object{{"tokens", tokens}, {"model", "m"}}));
  EXPECT_EQ(text_in(back.as_object(), "content"), text);
  EXPECT_EQ(text_in(back.as_object(), "prompt"), text);
}

TEST_F(TokenizerPages, RendersAChat) {
  EXPECT_EQ(asked("/apply-template", R"({"messages":[{"role":"user","content":"x"}]})"),
            json::parse(R"({"prompt":"user: x\nassistant:"})"));
  EXPECT_EQ(asked("/apply-template",
                  R"({"messages":[{"role":"user","content":"x"}],"add_generation_prompt":false,
                      "tools":null,"continue_final_message":false})"),
            json::parse(R"({"prompt":"user: x\n"})"));
}

TEST_F(TokenizerPages, AnErrorNamesTheFieldAndTheCause) {
  expect_refused("/tokenize", "{}", "missing_required_parameter", "content", "neither content");
  expect_refused("/tokenize", R"({"content":"a","prompt":"b"})", "invalid_value", "prompt",
                 "content and prompt are both there");
  expect_refused("/tokenize", R"({"content":7})", "invalid_value", "content", "a number");
  expect_refused("/tokenize", R"({"content":"a","add_special":1})", "invalid_value", "add_special",
                 "true or false");
  expect_refused("/tokenize", R"({"content":"a","with_pices":true})", "unsupported_parameter",
                 "with_pices", "did you mean with_pieces?");
  expect_refused("/tokenize", R"({"content":"a","return_token_strs":true})",
                 "unsupported_parameter", "return_token_strs", "not a field that /tokenize");
  expect_refused("/tokenize", "[]", "invalid_json", "", "an empty array");
  expect_refused("/detokenize", "{}", "missing_required_parameter", "tokens", "/detokenize needs");
  expect_refused("/detokenize", R"({"tokens":"a"})", "invalid_value", "tokens", "an array");
  expect_refused("/detokenize", R"({"tokens":[1,258]})", "invalid_value", "tokens[1]",
                 "outside the vocabulary of m: its ids are 0 to 257");
  expect_refused("/detokenize", R"({"tokens":[-1]})", "invalid_value", "tokens[0]", "is -1");
  expect_refused("/detokenize", R"({"tokens":[1.5]})", "invalid_value", "tokens[0]",
                 "a whole number");
  expect_refused("/apply-template", "{}", "missing_required_parameter", "messages",
                 "/apply-template needs");
  expect_refused("/apply-template", R"({"messages":[{"role":"system","content":"x"}]})",
                 "chat_template_refused", "messages[0].role", "no system messages");
  expect_refused("/apply-template", R"({"messages":[{"role":"cat","content":"x"}]})",
                 "invalid_value", "messages[0].role", "cat");
  expect_refused("/apply-template",
                 R"({"messages":[{"role":"user","content":"x"}],"chat_template":"x"})",
                 "unsupported_parameter", "chat_template", "--chat-template");
  const Reply unknown = ask("/tokenize", R"({"model":"x","content":"a"})");
  EXPECT_EQ(unknown.status, 404);
  EXPECT_EQ(unknown.error().at("code"), "model_not_found");
}

TEST_F(TokenizerPages, UseNoSlotOfTheModel) {
  asked("/tokenize", R"({"content":"hi"})");
  EXPECT_EQ(rig_.backend.submitted(), 0U);
}

class WithoutTokenizer : public TokenizerPages {
 protected:
  WithoutTokenizer() : TokenizerPages(nullptr) {}
};

TEST_F(WithoutTokenizer, AModelOfAnotherServerSaysHowToGetOne) {
  for (const char* path : {"/tokenize", "/detokenize", "/apply-template"}) {
    expect_refused(path, R"({"content":"hi"})", "unsupported_by_model", "model",
                   "--tokenizer m=model.gguf");
  }
}

class WithUnreadableTokenizer : public TokenizerPages {
 protected:
  WithUnreadableTokenizer()
      : TokenizerPages(std::make_shared<llm::LazyTokenizer>(
            []() -> Result<std::shared_ptr<const llm::Tokenizer>> {
              return Error{ErrorKind::kNotFound, "/secret/m.gguf: there is no such model file"};
            })) {}
};

TEST_F(WithUnreadableTokenizer, AClientDoesNotLearnThePath) {
  const Reply reply = ask("/tokenize", R"({"content":"hi"})");
  EXPECT_EQ(reply.status, 503);
  EXPECT_EQ(reply.error().at("code"), "model_unavailable");
  EXPECT_EQ(reply.body.find("secret"), std::string::npos);
}

class WithWrongTokenizer : public TokenizerPages {
 protected:
  explicit WithWrongTokenizer(std::shared_ptr<llm::LazyTokenizer> tokenizer = byte_tokenizer())
      : TokenizerPages(tokenizer), wrong_(std::move(tokenizer)) {}

  const std::shared_ptr<llm::LazyTokenizer> wrong_;
};

TEST_F(WithWrongTokenizer, EveryPageSaysWhyOnceThatIsKnown) {
  asked("/tokenize", R"({"content":"hi"})");
  wrong_->refuse("--tokenizer m: it is another one");
  for (const auto& [path, page] : tokenizer_pages()) {
    expect_refused(path, R"({"content":"hi"})", "unsupported_by_model", "model",
                   "--tokenizer m: it is another one");
  }
}

TEST(TokenizerPagesWhileLoading, AreNotReady) {
  testing::ServerRig rig;
  const Reply reply = rig.ask(post("/tokenize", R"({"content":"hi"})"));
  EXPECT_EQ(reply.status, 503);
}

TEST(TokenizerPagesWithUnknownFields, IgnoreThemWhereTheServerDoes) {
  ModelRegistry models;
  models.add({.name = "m", .tokenizer = byte_tokenizer()}, /*any=*/true);
  const auto answer =
      show_tokenized(models, llm::UnknownFields::kIgnore, R"({"content":"h","cache_prompt":true})");
  EXPECT_EQ(std::get<http::ServerReply>(answer).body, R"({"tokens":[104]})");
}

}  // namespace
}  // namespace windrow::api
