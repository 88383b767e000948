#include "program/models/upstream_body.h"

#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>

#include "json/parse.h"
#include "llm/body_reader.h"

namespace windrow::program {
namespace {

namespace json = boost::json;
using Kind = llm::StructureSpec::Kind;

Prompt chat() {
  return {.chat = {.messages = {{{"role", "user"}, {"content", "hi"}}}}};
}

std::string body_of(Prompt prompt, const GenerateOptions& options) {
  return upstream_request("m", std::move(prompt), options, 100).raw;
}

GenerateOptions held_to(llm::StructureSpec spec) {
  GenerateOptions options;
  options.structured = std::move(spec);
  return options;
}

TEST(UpstreamBody, AChatIsItsMessages) {
  EXPECT_EQ(
      body_of(chat(), {}),
      R"({"model":"m","messages":[{"role":"user","content":"hi"}],"max_tokens":100,"seed":0})");
}

TEST(UpstreamBody, OptionsAreSentAsTheyWereWritten) {
  const llm::Request request = upstream_request("m", chat(),
                                                {.output_tokens_max = 9,
                                                 .temperature = 0.7F,
                                                 .top_p = 0.95F,
                                                 .top_k = 40,
                                                 .min_p = 0.1F,
                                                 .seed = ~uint64_t{0},
                                                 .stop = {"\n", "end"},
                                                 .thinking = false},
                                                100);
  EXPECT_EQ(parse_written_json(request.raw), parse_written_json(R"({
      "model": "m", "messages": [{"role": "user", "content": "hi"}],
      "chat_template_kwargs": {"enable_thinking": false},
      "max_tokens": 9, "temperature": 0.7, "top_p": 0.95, "top_k": 40, "min_p": 0.1,
      "seed": -1, "stop": ["\n", "end"]})"));
  EXPECT_EQ(request.endpoint, llm::Endpoint::kChatCompletions);
  EXPECT_EQ(request.model, "m");
  EXPECT_EQ(request.output_tokens_max, 9);
}

TEST(UpstreamBody, TheChatsOwnArgumentsGoFirst) {
  Prompt prompt = chat();
  prompt.chat.template_arguments = {{"enable_thinking", true}};
  prompt.chat.wishes = {{"enable_thinking", false}, {"other", 1}};
  const json::value body = parse_written_json(body_of(std::move(prompt), {.thinking = false}));
  EXPECT_EQ(body.at("chat_template_kwargs"),
            parse_written_json(R"({"enable_thinking": true, "other": 1})"));
}

TEST(UpstreamBody, RawTextIsACompletion) {
  const llm::Request request =
      upstream_request("m", {.text = "Once", .is_raw = true}, {.top_k = -1, .thinking = true}, 100);
  EXPECT_EQ(request.raw, R"({"model":"m","prompt":"Once","max_tokens":100,"seed":0})");
  EXPECT_EQ(request.endpoint, llm::Endpoint::kCompletions);
}

TEST(UpstreamBody, ASchemaIsAResponseFormat) {
  const json::value body = parse_written_json(
      body_of(chat(), held_to({.kind = Kind::kJsonSchema, .text = R"({"type":"integer"})"})));
  EXPECT_EQ(body.at("response_format"), parse_written_json(R"({"type": "json_schema",
      "json_schema": {"name": "answer", "strict": true, "schema": {"type": "integer"}}})"));
}

TEST(UpstreamBody, ChoicesAreASchemaOfAnObject) {
  const json::value body =
      parse_written_json(body_of(chat(), held_to({.kind = Kind::kChoice, .choices = {"a", "b"}})));
  EXPECT_EQ(body.at("response_format"), parse_written_json(R"({"type": "json_schema",
      "json_schema": {"name": "answer", "strict": true, "schema": {
          "type": "object", "properties": {"choice": {"type": "string", "enum": ["a", "b"]}},
          "required": ["choice"], "additionalProperties": false}}})"));
}

TEST(UpstreamBody, OneChoiceIsAListToo) {
  const json::value body =
      parse_written_json(body_of(chat(), held_to({.kind = Kind::kChoice, .choices = {"a"}})));
  EXPECT_EQ(body.at_pointer("/response_format/json_schema/schema/properties/choice/enum"),
            json::value(json::array{"a"}));
}

TEST(UpstreamBody, ARegexIsAskedForInVllmsWords) {
  const json::value body =
      parse_written_json(body_of(chat(), held_to({.kind = Kind::kRegex, .text = "[0-9]+"})));
  EXPECT_EQ(body.at("structured_outputs"), parse_written_json(R"({"regex": "[0-9]+"})"));
  EXPECT_FALSE(body.as_object().contains("response_format"));
}

TEST(UpstreamBody, ThoughtsAreBoundedOnlyBesideAStructure) {
  GenerateOptions options{.thought_tokens_max = 5};
  EXPECT_FALSE(
      parse_written_json(body_of(chat(), options)).as_object().contains("max_reasoning_tokens"));
  options.structured = {.kind = Kind::kRegex, .text = "a"};
  EXPECT_EQ(parse_written_json(body_of(chat(), options)).at("max_reasoning_tokens"), 5);
}

// A Windrow elsewhere takes what is sent, and takes it for what was asked.
TEST(UpstreamBody, WindrowReadsEachBodyAsTheSameQuestion) {
  GenerateOptions options{.output_tokens_max = 9,
                          .temperature = 0.7F,
                          .top_p = 0.95F,
                          .top_k = 40,
                          .min_p = 0.1F,
                          .seed = ~uint64_t{0} - 1,
                          .stop = {"\n"},
                          .thinking = true,
                          .thought_tokens_max = 5};
  const llm::StructureSpec specs[] = {{.kind = Kind::kJsonSchema, .text = R"({"type":"integer"})"},
                                      {.kind = Kind::kRegex, .text = "[0-9]+"},
                                      {.kind = Kind::kChoice, .choices = {"a", "b"}}};
  for (const llm::StructureSpec& spec : specs) {
    options.structured = spec;
    const std::string raw = body_of(chat(), options);
    const auto read =
        llm::read_body(llm::Endpoint::kChatCompletions, {}, parse_written_json(raw).as_object(), 1);
    ASSERT_TRUE(std::holds_alternative<llm::ReadBody>(read))
        << std::get<llm::Failure>(read).message;
    const llm::Request& request = std::get<llm::ReadBody>(read).request;
    EXPECT_EQ(request.sampling.seed, options.seed);
    EXPECT_EQ(request.sampling.temperature, 0.7F);
    EXPECT_EQ(request.sampling.min_p, 0.1F);
    EXPECT_EQ(request.reasoning_tokens_max, 5);
    EXPECT_EQ(request.output_tokens_max, 9);
    ASSERT_TRUE(request.structured);
    const bool same = request.structured->kind == spec.kind;
    EXPECT_TRUE(same || spec.kind == Kind::kChoice);
  }
}

llm::Answer reply(std::string content, std::string_view finish = "stop") {
  const json::value body = {
      {"choices",
       json::array{{{"index", 0},
                    {"message", {{"role", "assistant"}, {"content", std::move(content)}}},
                    {"finish_reason", finish}}}}};
  llm::Answer answer;
  answer.raw = json::serialize(body);
  answer.usage = {.prompt_tokens = 3, .completion_tokens = 2};
  return answer;
}

TEST(UpstreamReply, AChatsAnswerIsItsMessage) {
  const auto read = read_upstream_reply(reply("hello", "length"), {});
  const auto& answer = std::get<GenerateReply>(read);
  EXPECT_EQ(answer.choice.text, "hello");
  EXPECT_EQ(answer.choice.finish_reason, llm::FinishReason::kLength);
  EXPECT_TRUE(answer.choice.token_ids.empty());
  EXPECT_EQ(answer.usage.prompt_tokens, 3);
}

TEST(UpstreamReply, ACompletionsAnswerIsItsText) {
  llm::Answer answer;
  answer.raw = R"({"choices":[{"index":0,"text":" upon","finish_reason":"stop"}]})";
  EXPECT_EQ(std::get<GenerateReply>(read_upstream_reply(answer, {})).choice.text, " upon");
}

TEST(UpstreamReply, AChoiceIsTakenOutOfItsJson) {
  const auto chosen = [](std::string content) {
    return std::get<GenerateReply>(read_upstream_reply(reply(std::move(content)), {"a\n", "b"}))
        .choice.text;
  };
  EXPECT_EQ(chosen(R"({"choice": "b"})"), "b");
  EXPECT_EQ(chosen(R"({"choice": "a\n"})"), "a\n");
  EXPECT_EQ(chosen(R"( "b" )"), "b");
}

TEST(UpstreamReply, ACutChoiceStaysAsItIs) {
  llm::Answer cut = reply(R"({"choi)", "length");
  cut.truncated = true;
  const auto read = read_upstream_reply(cut, {"a"});
  const auto& choice = std::get<GenerateReply>(read).choice;
  EXPECT_EQ(choice.text, R"({"choi)");
  EXPECT_EQ(choice.structure, llm::StructureLabel::kTruncated);
}

TEST(UpstreamReply, AChoiceThatReachedItsLimitWholeIsThatChoice) {
  const auto read = read_upstream_reply(reply(R"({"choice": "a"})", "length"), {"a"});
  EXPECT_EQ(std::get<GenerateReply>(read).choice.text, "a");
}

TEST(UpstreamReply, WhatIsNoneOfTheChoicesIsAFailure) {
  for (const char* content : {"a", R"({"choice": "c"})", R"({"other": "a"})", "[]", ""}) {
    const auto read = read_upstream_reply(reply(content), {"a"});
    ASSERT_TRUE(std::holds_alternative<llm::Failure>(read)) << content;
    EXPECT_EQ(std::get<llm::Failure>(read).code, "unusable_answer");
    EXPECT_TRUE(std::get<llm::Failure>(read).answered) << "the server itself is well";
  }
}

TEST(UpstreamReply, WhatIsNoAnswerIsAFailure) {
  llm::Answer answer;
  for (const char* raw : {"{}", R"({"choices":[]})", "no JSON"}) {
    answer.raw = raw;
    const auto read = read_upstream_reply(answer, {});
    ASSERT_TRUE(std::holds_alternative<llm::Failure>(read)) << raw;
    EXPECT_EQ(std::get<llm::Failure>(read).failure_class, llm::FailureClass::kTransient);
  }
}

TEST(UpstreamReply, ARefusalIsAFailureOfTheRequest) {
  llm::Answer answer;
  answer.raw =
      R"({"choices":[{"message":{"content":null,"refusal":"no"},"finish_reason":"stop"}]})";
  const auto read = read_upstream_reply(answer, {});
  ASSERT_TRUE(std::holds_alternative<llm::Failure>(read));
  EXPECT_EQ(std::get<llm::Failure>(read).code, "refused_by_model");
  EXPECT_EQ(std::get<llm::Failure>(read).failure_class, llm::FailureClass::kRequest);
}

}  // namespace
}  // namespace windrow::program
