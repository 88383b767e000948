#include "llm/answer_json.h"

#include <gtest/gtest.h>

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace windrow::llm {
namespace {

namespace json = boost::json;

const Answer kAnswer{.choices = {{.text = "hi \"you\"", .finish_reason = FinishReason::kLength}},
                     .usage = {.prompt_tokens = 3, .completion_tokens = 2, .cached_tokens = 1}};

json::value body_of(Endpoint endpoint, const Answer& answer) {
  const std::string text = answer_to_json(endpoint, "7", "m", 1700000000, answer);
  EXPECT_EQ(text.find('\n'), std::string::npos);
  return json::parse(text);
}

ScoredToken scored(std::string bytes, float logprob, std::vector<TokenLogprob> top = {}) {
  return {.chosen = {.token = 1, .bytes = std::move(bytes), .logprob = logprob},
          .top = std::move(top)};
}

TEST(AnswerJson, ChatHasTheShapeOfTheApi) {
  EXPECT_EQ(body_of(Endpoint::kChatCompletions, kAnswer),
            json::parse(R"({"id":"chatcmpl-7","object":"chat.completion","created":1700000000,
      "model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"hi \"you\"",
      "refusal":null},"logprobs":null,"finish_reason":"length"}],
      "usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5,
      "prompt_tokens_details":{"cached_tokens":1},
      "completion_tokens_details":{"reasoning_tokens":0}}})"));
}

TEST(AnswerJson, CompletionsHasTheShapeOfTheApi) {
  EXPECT_EQ(body_of(Endpoint::kCompletions, kAnswer),
            json::parse(R"({"id":"cmpl-7","object":"text_completion","created":1700000000,
      "model":"m","choices":[{"index":0,"text":"hi \"you\"","logprobs":null,
      "finish_reason":"length"}],
      "usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5,
      "prompt_tokens_details":{"cached_tokens":1},
      "completion_tokens_details":{"reasoning_tokens":0}}})"));
}

TEST(AnswerJson, ChoicesAreCountedAndThoughtsStandApart) {
  const Answer answer{.choices = {{.text = "4", .reasoning = "2 + 2\n"}, {.text = "5"}}};
  EXPECT_EQ(body_of(Endpoint::kChatCompletions, answer).at("choices"), json::parse(R"([
      {"index":0,"message":{"role":"assistant","content":"4","reasoning_content":"2 + 2\n",
       "refusal":null},"logprobs":null,"finish_reason":"stop"},
      {"index":1,"message":{"role":"assistant","content":"5","refusal":null},"logprobs":null,
       "finish_reason":"stop"}])"));
}

// vLLM's shape: a chat has one prompt, each choice of completions names its own.
TEST(AnswerJson, TokenIdsStandBesideTheTexts) {
  const Answer chat{
      .choices = {{.text = "4", .token_ids = {7, 2}}, {.text = "5", .token_ids = {8}}},
      .prompt_token_ids = {{1, 2, 3}}};
  const json::value body = body_of(Endpoint::kChatCompletions, chat);
  EXPECT_EQ(body.at("prompt_token_ids"), json::parse("[1,2,3]"));
  EXPECT_EQ(body.at("choices").at(0).at("token_ids"), json::parse("[7,2]"));
  EXPECT_EQ(body.at("choices").at(1).at("token_ids"), json::parse("[8]"));
  EXPECT_FALSE(body.at("choices").at(0).as_object().contains("prompt_token_ids"));

  const Answer texts{.choices = {{.token_ids = {1}},
                                 {.token_ids = {2}},
                                 {.stopped_by_token = 3, .token_ids = {3}},
                                 {.token_ids = {4}}},
                     .prompt_token_ids = {{10}, {20, 21}}};
  const json::value whole = body_of(Endpoint::kCompletions, texts);
  EXPECT_FALSE(whole.as_object().contains("prompt_token_ids"));
  const json::array& choices = whole.at("choices").as_array();
  EXPECT_EQ(choices.at(1).at("prompt_token_ids"), json::parse("[10]"));
  EXPECT_EQ(choices.at(2).at("prompt_token_ids"), json::parse("[20,21]"));
  EXPECT_EQ(choices.at(2).at("stop_reason"), 3);
  EXPECT_EQ(choices.at(3).at("token_ids"), json::parse("[4]"));
}

TEST(AnswerJson, ThePromptsLogProbabilitiesAreNamedByTheirIds) {
  const std::vector<ScoredToken> scores = {
      {.chosen = {.token = 5, .bytes = "a"}, .has_logprob = false},
      {.chosen = {.token = 6, .bytes = "b", .logprob = -2},
       .top = {{.token = 9, .bytes = "c", .logprob = -0.5F},
               {.token = 6, .bytes = "b", .logprob = -2}},
       .rank = 2},
      {.chosen = {.token = 7, .bytes = "\xF0", .logprob = -9}, .top = {}, .rank = 40}};
  const json::value expected = json::parse(R"([null,
      {"6":{"logprob":-2.0,"rank":2,"decoded_token":"b"},
       "9":{"logprob":-0.5,"rank":1,"decoded_token":"c"}},
      {"7":{"logprob":-9.0,"rank":40,"decoded_token":"\\xf0"}}])");
  const Answer answer{.choices = {{.prompt_scores = scores}}};
  EXPECT_EQ(body_of(Endpoint::kChatCompletions, answer).at("prompt_logprobs"), expected);
  EXPECT_EQ(body_of(Endpoint::kCompletions, answer).at("choices").at(0).at("prompt_logprobs"),
            expected);
}

TEST(AnswerJson, ACharacterThatWasCutIsNamed) {
  const Answer answer{
      .choices = {
          {.text = "a\xEF\xBF\xBD", .finish_reason = FinishReason::kLength, .cut_character = true},
          {.text = "b"}}};
  for (const Endpoint endpoint : {Endpoint::kChatCompletions, Endpoint::kCompletions}) {
    const json::value choices = body_of(endpoint, answer).at("choices");
    EXPECT_EQ(choices.at(0).at("cut_character"), true);
    EXPECT_FALSE(choices.at(1).as_object().contains("cut_character"));
  }
}

TEST(AnswerJson, WarningsOfASchemaStandBesideTheChoices) {
  EXPECT_FALSE(
      body_of(Endpoint::kChatCompletions, kAnswer).as_object().contains("structure_warnings"));
  Answer answer = kAnswer;
  answer.structure_warnings = {"at #/\"a\": b", "at #/c: d"};
  for (const Endpoint endpoint : {Endpoint::kChatCompletions, Endpoint::kCompletions}) {
    EXPECT_EQ(body_of(endpoint, answer).at("structure_warnings"),
              (json::array{"at #/\"a\": b", "at #/c: d"}));
  }
}

TEST(AnswerJson, CallsOfToolsStandBesideWhatIsSaid) {
  const Answer answer{
      .choices = {
          {.text = "",
           .tool_calls = {{.id = "call_1", .name = "f", .arguments = R"({"a": "b"})"},
                          {.id = "call_2", .name = "g", .arguments = "{}"}},
           .finish_reason = FinishReason::kToolCalls},
          {.text = "I look.", .tool_calls = {{.id = "call_3", .name = "g", .arguments = "{}"}}}}};
  EXPECT_EQ(body_of(Endpoint::kChatCompletions, answer).at("choices"), json::parse(R"([
      {"index":0,"message":{"role":"assistant","content":null,"tool_calls":[
        {"id":"call_1","type":"function","function":{"name":"f","arguments":"{\"a\": \"b\"}"}},
        {"id":"call_2","type":"function","function":{"name":"g","arguments":"{}"}}],
       "refusal":null},"logprobs":null,"finish_reason":"tool_calls"},
      {"index":1,"message":{"role":"assistant","content":"I look.","tool_calls":[
        {"id":"call_3","type":"function","function":{"name":"g","arguments":"{}"}}],
       "refusal":null},"logprobs":null,"finish_reason":"stop"}])"));
}

TEST(AnswerJson, ACallThatBrokeOffIsTextWhereTheAnswerComesWhole) {
  const ToolCall made{.id = "call_1", .name = "f", .arguments = "{}"};
  const ToolCall broken{.id = "call_2", .name = "f", .arguments = "{\"a\":"};
  const Answer told{
      .choices = {{.text = "}",
                   .tool_calls = {made, broken},
                   .when_whole = WholeForm{.text = "f {\"a\":}",
                                           .tool_calls = {made},
                                           .finish_reason = FinishReason::kToolCalls}}}};
  const Answer whole{
      .choices = {
          {.text = "f {\"a\":}", .tool_calls = {made}, .finish_reason = FinishReason::kToolCalls}}};
  EXPECT_EQ(answer_to_json(Endpoint::kChatCompletions, "1", "m", 2, told),
            answer_to_json(Endpoint::kChatCompletions, "1", "m", 2, whole));
  EXPECT_GT(bytes_of(told), bytes_of(whole));
}

TEST(AnswerJson, ChatListsTokensWithTheirBytes) {
  const float never = -std::numeric_limits<float>::infinity();
  const Answer answer{
      .choices = {{.text = "é",
                   .tokens = {scored("\xC3", -0.25F,
                                     {{.token = 1, .bytes = "\xC3", .logprob = -0.25F},
                                      {.token = 2, .bytes = "a", .logprob = never}}),
                              scored("\xA9", -0.1F), scored("", -2)}}}};
  EXPECT_EQ(body_of(Endpoint::kChatCompletions, answer).at_pointer("/choices/0/logprobs"),
            json::parse(R"({"content":[
      {"token":"\\xc3","logprob":-0.25,"bytes":[195],"top_logprobs":[
        {"token":"\\xc3","logprob":-0.25,"bytes":[195]},
        {"token":"a","logprob":-9999.0,"bytes":[97]}]},
      {"token":"\\xa9","logprob":-0.1,"bytes":[169],"top_logprobs":[]},
      {"token":"","logprob":-2.0,"bytes":null,"top_logprobs":[]}],"refusal":null})"));
}

// A prompt that is scored: echo, no token of its own, and nothing before the first.
TEST(AnswerJson, CompletionsListTokensInFourArrays) {
  ScoredToken first = scored("one", 0);
  first.has_logprob = false;
  const Answer answer{
      .choices = {
          {.text = "one two é",
           .tokens = {first,
                      scored(" two", -0.5F, {{.token = 1, .bytes = " two", .logprob = -0.5F}}),
                      scored(" \xC3", -3, {{.token = 5, .bytes = "x", .logprob = -0.75F}}),
                      scored("\xA9", std::numeric_limits<float>::quiet_NaN())}}}};
  EXPECT_EQ(body_of(Endpoint::kCompletions, answer).at_pointer("/choices/0/logprobs"),
            json::parse(R"({"tokens":["one"," two","bytes: \\xc3","bytes:\\xa9"],
      "token_logprobs":[null,-0.5,-3.0,-9999.0],
      "top_logprobs":[null,{" two":-0.5},{"x":-0.75,"bytes: \\xc3":-3.0},{"bytes:\\xa9":-9999.0}],
      "text_offset":[0,3,7,8]})"));
}

TEST(AnswerJson, TokensThatAreSpeltAlikeStandOnceInAnObject) {
  const Answer answer{
      .choices = {{.text = "",
                   .tokens = {scored("", -1,
                                     {{.token = 1, .bytes = "", .logprob = -1},
                                      {.token = 2, .bytes = "", .logprob = -2}})}}}};
  const std::string text = answer_to_json(Endpoint::kCompletions, "7", "m", 1, answer);
  EXPECT_NE(text.find(R"("top_logprobs":[{"":-1.0}])"), std::string::npos) << text;
}

TEST(AnswerJson, EmbeddingsHaveTheShapeOfTheApi) {
  Answer answer{.embeddings = {{0.1F, -1.0F}, {0.0F, 1e-9F}},
                .usage = {.prompt_tokens = 9, .completion_tokens = 0}};
  EXPECT_EQ(answer_to_json(Endpoint::kEmbeddings, "7", "m", 1, answer),
            R"({"object":"list","data":[)"
            R"({"object":"embedding","index":0,"embedding":[0.1,-1.0]},)"
            R"({"object":"embedding","index":1,"embedding":[0.0,1e-09]}],)"
            R"("model":"m","usage":{"prompt_tokens":9,"total_tokens":9}})");

  // python: base64.b64encode(numpy.array([0.1, -1.0], dtype="<f4").tobytes())
  answer.base64 = true;
  EXPECT_EQ(body_of(Endpoint::kEmbeddings, answer).at_pointer("/data/0/embedding"), "zczMPQAAgL8=");
}

TEST(AnswerJson, RerankHasTheShapeOfJina) {
  const Answer answer{.ranking = {{.index = 1, .score = 2.5F, .text = ""},
                                  {.index = 0, .score = -3, .text = std::nullopt}},
                      .usage = {.prompt_tokens = 9, .completion_tokens = 0}};
  EXPECT_EQ(body_of(Endpoint::kRerank, answer), json::parse(R"({"id":"rerank-7","model":"m",
      "results":[{"index":1,"relevance_score":2.5,"document":{"text":""}},
      {"index":0,"relevance_score":-3.0}],"usage":{"total_tokens":9}})"));
}

TEST(AnswerJson, FailureSaysNullForWhatItDoesNotKnow) {
  const Failure failure{.status = 500, .code = "", .message = "why", .param = "stop"};
  EXPECT_EQ(failure_to_json(failure),
            json::parse(R"({"error":{"message":"why","type":"server_error","param":"stop",
      "code":null}})"));
}

using Offsets = std::vector<int32_t>;

Offsets offsets(const std::string& text, const std::vector<std::string>& tokens,
                int32_t text_begin = 0) {
  Choice choice{.text = text, .text_begin = text_begin};
  for (const std::string& token : tokens)
    choice.tokens.push_back({.chosen = {.token = 1, .bytes = token, .logprob = -1}});
  return text_offsets(choice);
}

TEST(TextOffsets, TokensFollowEachOther) {
  EXPECT_EQ(offsets("one two", {"one", " two"}), (Offsets{0, 3}));
  EXPECT_EQ(offsets("", {}), Offsets{});
}

// The beginning of a real answer of OpenAI's to a prompt of 5 characters.
TEST(TextOffsets, AreCountedInCharactersFromTheStartOfThePrompt) {
  EXPECT_EQ(offsets("，适合出门旅行",
                    {"，", "\xE9\x80", "\x82", "合", "出", "门", "\xE6\x97", "\x85", "行"}, 5),
            (Offsets{5, 6, 6, 7, 8, 9, 10, 10, 11}));
}

TEST(TextOffsets, WhatIsNotInTheTextTakesNoRoom) {
  EXPECT_EQ(offsets("ab", {"", "a", "", "b", ""}), (Offsets{0, 0, 1, 1, 2}));  // control tokens
  EXPECT_EQ(offsets("ab", {"a", "b###", "#"}), (Offsets{0, 1, 1}));            // cut at a stop text
}

TEST(TextOffsets, ATextMayLackTheBlankOfItsFirstToken) {
  EXPECT_EQ(offsets("Once upon", {" Once", " upon"}), (Offsets{0, 4}));
}

TEST(TextOffsets, IllFormedBytesStandAsOneReplacement) {
  EXPECT_EQ(offsets("a\uFFFDb", {"a", "\xF0\x9F", "b"}), (Offsets{0, 1, 2}));
  EXPECT_EQ(offsets("a\uFFFDbc", {"a",
                                  "\xF0\x9F"
                                  "b",
                                  "c"}),
            (Offsets{0, 1, 3}));
  EXPECT_EQ(offsets("a\uFFFDbc", {"a", "\xF0", "\x9F", "b", "c"}), (Offsets{0, 1, 2, 2, 3}));
}

// Each token with the text it made, as an engine tells them.
TEST(TextOffsets, AreTheSameInPieces) {
  const std::vector<std::pair<std::string, std::vector<std::string>>> pieces = {
      {"，", {"，"}}, {"", {}}, {"适", {"\xE9\x80", "\x82"}}, {" a", {" a"}}, {"b", {"b###", "#"}}};
  std::string text;
  std::vector<std::string> tokens;
  Offsets streamed;
  TextOffsets stream(5);
  for (const auto& [said, listed] : pieces) {
    text += said;
    stream.add_text(said);
    for (const std::string& token : listed) {
      tokens.push_back(token);
      streamed.push_back(stream.next(token));
    }
  }
  EXPECT_EQ(streamed, offsets(text, tokens, 5));
}

}  // namespace
}  // namespace windrow::llm
