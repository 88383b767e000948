#include "api/wire/translation.h"

#include <gtest/gtest.h>

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <string>
#include <string_view>

#include "llm/request_json.h"

namespace windrow::api {
namespace {

namespace json = boost::json;

Translation made(Dialect dialect, std::string_view body) {
  auto result = translate(dialect, json::parse(body).as_object());
  const auto* failure = std::get_if<llm::Failure>(&result);
  EXPECT_EQ(failure, nullptr) << failure->message;
  return failure == nullptr ? std::get<Translation>(std::move(result)) : Translation();
}

json::value messages_of(Dialect dialect, std::string_view body) {
  return made(dialect, body).chat.at("messages");
}

// "param: message" of the failure, of the translation or of the parser behind it.
std::string refused(Dialect dialect, std::string_view body) {
  auto result = translate(dialect, json::parse(body).as_object());
  if (const auto* failure = std::get_if<llm::Failure>(&result)) {
    EXPECT_EQ(failure->status, 400);
    return failure->param + ": " + failure->message;
  }
  const auto& translation = std::get<Translation>(result);
  const auto parsed = llm::parse_request(llm::Endpoint::kChatCompletions, translation.chat, 1);
  const auto* failure = std::get_if<llm::Failure>(&parsed);
  if (failure == nullptr) return "nothing is wrong";
  const llm::Failure own = translation.origins.to_client(*failure);
  return own.param + ": " + own.message;
}

std::string response_refused(std::string_view members) {
  return refused(Dialect::kResponses, R"({"input":"a",)" + std::string(members) + "}");
}

std::string message_refused(std::string_view members) {
  return refused(Dialect::kMessages,
                 R"({"max_tokens":1,"messages":[{"role":"user","content":"a"}],)" +
                     std::string(members) + "}");
}

// --- /v1/responses ---

TEST(ResponsesBody, AStringIsAMessageOfTheUser) {
  EXPECT_EQ(messages_of(Dialect::kResponses, R"({"input":"a","instructions":"b"})"),
            json::parse(R"([{"role":"system","content":"b"},{"role":"user","content":"a"}])"));
}

TEST(ResponsesBody, EmptyInstructionsAddNoMessage) {
  EXPECT_EQ(messages_of(Dialect::kResponses,
                        R"({"input":[{"role":"system","content":"b"}],"instructions":""})"),
            json::parse(R"([{"role":"system","content":"b"}])"));
}

TEST(ResponsesBody, ItemsOfOneTurnAreOneMessage) {
  EXPECT_EQ(messages_of(Dialect::kResponses, R"({"input":[
          {"role":"user","content":[{"type":"input_text","text":"a"}]},
          {"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"s"}],
           "content":[{"type":"reasoning_text","text":"hm"}]},
          {"type":"message","id":"msg_1","status":"completed",
           "structure":"valid","role":"assistant",
           "content":[{"type":"output_text","text":"b","annotations":[],"logprobs":[]}]},
          {"type":"function_call","id":"fc_1","call_id":"c1","name":"f","arguments":"{}"},
          {"type":"function_call","call_id":"c2","name":"g","arguments":"{\"x\":1}"},
          {"type":"function_call_output","call_id":"c1","output":"one"},
          {"type":"function_call_output","call_id":"c2",
           "output":[{"type":"input_text","text":"t"},{"type":"input_text","text":"wo"}]},
          {"role":"assistant","content":"c"},{"role":"assistant","content":"d"},
          {"role":"developer","content":"e"}]})"),
            json::parse(R"([
          {"role":"user","content":"a"},
          {"role":"assistant","content":"b","reasoning_content":"hm","tool_calls":[
            {"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}},
            {"id":"c2","type":"function","function":{"name":"g","arguments":"{\"x\":1}"}}]},
          {"role":"tool","tool_call_id":"c1","content":"one"},
          {"role":"tool","tool_call_id":"c2","content":[{"type":"text","text":"t"},
                                                        {"type":"text","text":"wo"}]},
          {"role":"assistant","content":"c"},{"role":"assistant","content":"d"},
          {"role":"developer","content":"e"}])"));
}

// Clients add members of their own to what was answered.
TEST(ResponsesBody, AnswersMayBeSentBackAsTheyCame) {
  EXPECT_EQ(messages_of(Dialect::kResponses, R"({"input":[
          {"type":"reasoning","id":"rs_1","summary":[],"provider_data":{"a":1},
           "content":[{"type":"reasoning_text","text":"hm","signature":"s"}]},
          {"type":"message","id":"msg_1","role":"assistant","phase":"final","x_vendor":1,
           "content":[{"type":"output_text","text":"b","annotations":[],"parsed":{},"role":"x"}]},
          {"type":"function_call","id":"fc_1","call_id":"c1","name":"f","arguments":"{}",
           "parsed_arguments":{},"namespace":"n"},
          {"type":"function_call_output","call_id":"c1","output":"one"}]})"),
            json::parse(R"([
          {"role":"assistant","content":"b","reasoning_content":"hm","tool_calls":[
            {"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]},
          {"role":"tool","tool_call_id":"c1","content":"one"}])"));
}

TEST(ResponsesBody, FieldsHaveOtherNamesAndShapes) {
  const Translation translation = made(Dialect::kResponses, R"({"model":"m","input":"a",
      "max_output_tokens":5,"temperature":0,"top_logprobs":2,"parallel_tool_calls":true,
      "include":["message.output_text.logprobs","reasoning.encrypted_content"],
      "reasoning":{"effort":"low","summary":"auto"},"store":true,"metadata":{"k":"v"},
      "text":{"format":{"type":"json_schema","name":"n","strict":true,"schema":{"type":"object"}},
              "verbosity":"medium"},
      "tools":[{"type":"function","name":"f","description":"d","parameters":{"type":"object"},
                "strict":true}],
      "tool_choice":"auto","stream":true,"truncation":"disabled","user":"u"})");
  json::object chat = translation.chat;
  chat.erase("messages");
  EXPECT_EQ(json::value(chat), json::parse(R"({"model":"m","max_completion_tokens":5,
      "temperature":0,"top_logprobs":2,"logprobs":true,"stream":true,
      "user":"u","tool_choice":"auto","parallel_tool_calls":true,
      "response_format":{"type":"json_schema","json_schema":{"name":"n","strict":true,
                         "schema":{"type":"object"}}},
      "tools":[{"type":"function","function":{"name":"f","description":"d",
                "parameters":{"type":"object"},"strict":true}}]})"));
  EXPECT_EQ(json::value(translation.wishes), json::parse(R"({"reasoning_effort":"low"})"));
  EXPECT_EQ(translation.echo.at("metadata"), json::parse(R"({"k":"v"})"));
  EXPECT_EQ(translation.echo.at("max_output_tokens"), 5);
  EXPECT_EQ(
      made(Dialect::kResponses, R"({"input":"a","tool_choice":{"type":"function","name":"f"}})")
          .chat.at("tool_choice"),
      json::parse(R"({"type":"function","function":{"name":"f"}})"));
}

// Clients send it by themselves for models of certain names.
TEST(ResponsesBody, AVerbosityIsPassedOnUnlessItIsWhatHappensAnyway) {
  EXPECT_EQ(
      made(Dialect::kResponses, R"({"input":"a","text":{"verbosity":"low"}})").chat.at("verbosity"),
      "low");
  EXPECT_FALSE(made(Dialect::kResponses, R"({"input":"a","text":{"verbosity":"medium"}})")
                   .chat.contains("verbosity"));
}

TEST(ResponsesBody, WhatIsWrongIsSaidInItsOwnWords) {
  EXPECT_EQ(refused(Dialect::kResponses, "{}"),
            "input: the body has no input, which /v1/responses needs");
  EXPECT_EQ(response_refused(R"("max_output_tokens":0)"),
            "max_output_tokens: max_output_tokens is 0; it must be from 1 to 2147483647");
  EXPECT_EQ(response_refused(R"("text":{"format":{"type":"json_schema","name":"n"}})"),
            "text.format.schema: text.format.schema is missing; text.format needs it");
  EXPECT_EQ(response_refused(R"("conversation":"c")"),
            "conversation: conversation is not supported, so remove it: there are no conversations "
            "here; give "
            "previous_response_id, or send all of it in input");
  EXPECT_EQ(response_refused(R"("previous_response_id":null)"), "nothing is wrong");
  EXPECT_EQ(response_refused(R"("background":false)"), "nothing is wrong");
  EXPECT_EQ(response_refused(R"("tools":[{"type":"web_search"}])"),
            "tools[0].type: tools[0].type is \"web_search\"; only \"function\" is accepted: "
            "nothing is looked up or run here");
  EXPECT_EQ(response_refused(R"("tools":[{"type":"function","name":""}])"),
            "tools[0].name: tools[0] has no name; it must be a string that is not empty");
  EXPECT_EQ(refused(Dialect::kResponses, R"({"input":[{"type":"function_call","call_id":"c",
                "name":"f","arguments":"["}]})"),
            "input[0].arguments: input[0].arguments is \"[\", which is not a JSON object; it must "
            "be one, as text");
  EXPECT_EQ(refused(Dialect::kResponses, R"({"input":[{"type":"item_reference","id":"x"}]})"),
            "input[0]: input[0] is an item_reference, and no items are kept for batches; send the "
            "item itself");
  EXPECT_EQ(response_refused(R"("previous_response_id":"resp_1")"),
            "previous_response_id: previous_response_id is not supported in batches: no responses "
            "are kept for them; send the whole conversation in input");
  EXPECT_EQ(response_refused(R"("include":["file_search_call.results"])"),
            "include[0]: include[0] is \"file_search_call.results\"; only "
            "message.output_text.logprobs can be included");
  EXPECT_EQ(response_refused(R"("nonsense":1)"),
            "nonsense: \"nonsense\" is not a field that /v1/responses supports; remove it");
  EXPECT_EQ(response_refused(R"("metadata":{"a":1})"),
            "metadata.a: metadata.a must be a string, not a number");
  EXPECT_EQ(response_refused(R"("text":{"tone":"low"})"),
            "text.tone: text.tone is not supported; text has format and verbosity");
}

// --- /v1/messages ---

// Clients send the whole reply as the message it is.
TEST(MessagesBody, AnswersMayBeSentBackAsTheyCame) {
  EXPECT_EQ(messages_of(Dialect::kMessages, R"({"max_tokens":1,"messages":[
          {"id":"msg_1","type":"message","role":"assistant","model":"m","stop_reason":"tool_use",
           "stop_sequence":null,"usage":{"input_tokens":1},"container":null,"structure":"valid",
           "content":[{"type":"thinking","thinking":"hm","signature":"","index":0},
             {"type":"text","text":"b","citations":[],"parsed_output":{},"partial":true},
             {"type":"tool_use","id":"c1","name":"f","input":{},"caller":{"type":"direct"},
              "parsed_input":{}}]},
          {"role":"user","content":[
             {"type":"tool_result","tool_use_id":"c1","content":"one"}]}]})"),
            json::parse(R"([
          {"role":"assistant","content":"b","reasoning_content":"hm","tool_calls":[
            {"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]},
          {"role":"tool","tool_call_id":"c1","content":"one"}])"));
}

TEST(MessagesBody, BlocksBecomeMessagesOfAChat) {
  EXPECT_EQ(messages_of(Dialect::kMessages, R"({"max_tokens":1,
          "system":[{"type":"text","text":"s","cache_control":{"type":"ephemeral"}}],
          "messages":[
            {"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]},
            {"role":"assistant","content":[
              {"type":"thinking","thinking":"hm","signature":"x"},
              {"type":"redacted_thinking","data":"x"},
              {"type":"text","text":"c"},
              {"type":"tool_use","id":"t1","name":"f","input":{"x":1}},
              {"type":"tool_use","id":"t2","name":"g","input":{}}]},
            {"role":"user","content":[
              {"type":"tool_result","tool_use_id":"t1","content":"one","is_error":true},
              {"type":"tool_result","tool_use_id":"t2",
               "content":[{"type":"text","text":"two"}]},
              {"type":"text","text":"d"}]}]})"),
            json::parse(R"([
          {"role":"system","content":"s"},
          {"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]},
          {"role":"assistant","content":"c","reasoning_content":"hm","tool_calls":[
            {"id":"t1","type":"function","function":{"name":"f","arguments":"{\"x\":1}"}},
            {"id":"t2","type":"function","function":{"name":"g","arguments":"{}"}}]},
          {"role":"tool","tool_call_id":"t1","content":"one"},
          {"role":"tool","tool_call_id":"t2","content":"two"},
          {"role":"user","content":"d"}])"));
}

TEST(MessagesBody, FieldsHaveOtherNamesAndShapes) {
  const Translation translation = made(Dialect::kMessages, R"({"model":"m","max_tokens":5,
      "messages":[{"role":"user","content":"a"}],"stop_sequences":["x"],"top_k":3,"top_p":0.5,
      "tools":[{"name":"f","description":"d","input_schema":{"type":"object"},
                "cache_control":{"type":"ephemeral"}}],
      "tool_choice":{"type":"any","disable_parallel_tool_use":true},
      "thinking":{"type":"enabled","budget_tokens":1024},"service_tier":"standard_only",
      "metadata":{"user_id":"u"},
      "output_config":{"effort":"low","format":{"type":"json_schema","schema":{"type":"object"}}}
      })");
  json::object chat = translation.chat;
  chat.erase("messages");
  EXPECT_EQ(json::value(chat), json::parse(R"({"model":"m","max_tokens":5,"stop":["x"],"top_k":3,
      "top_p":0.5,"tools":[{"type":"function","function":{"name":"f","description":"d",
      "parameters":{"type":"object"}}}],"tool_choice":"required","parallel_tool_calls":false,
      "service_tier":"default","user":"u",
      "response_format":{"type":"json_schema","json_schema":{"name":"answer",
                         "schema":{"type":"object"}}}})"));
  EXPECT_EQ(json::value(translation.wishes),
            json::parse(R"({"enable_thinking":true,"reasoning_effort":"low"})"));
}

TEST(MessagesBody, WhatIsWrongIsSaidInItsOwnWords) {
  EXPECT_EQ(refused(Dialect::kMessages, R"({"messages":[{"role":"user","content":"a"}]})"),
            "max_tokens: the body has no max_tokens, which /v1/messages needs");
  EXPECT_EQ(
      refused(Dialect::kMessages, R"({"max_tokens":1,"messages":[{"role":"user","content":[
                {"type":"text","text":"a"},{"type":"image","source":{}}]}]})"),
      "messages[0].content[1].type: messages[0].content[1].type is \"image\"; models here read "
      "only texts");
  EXPECT_EQ(refused(Dialect::kMessages, R"({"max_tokens":1,"messages":[
                {"role":"user","content":"a"},{"role":"assistant","content":"b"}]})"),
            "messages[1]: messages[1] is the assistant's and the last one; an answer cannot be "
            "begun for the model: end with a message of the user");
  EXPECT_EQ(message_refused(R"("stop_sequences":[""])"),
            "stop_sequences: stop_sequences must be a string that is not empty, or an array of "
            "such");
  EXPECT_EQ(message_refused(R"("tools":[{"type":"bash_20250124","name":"bash"}])"),
            "tools[0].type: tools[0].type is \"bash_20250124\"; only tools with an input_schema "
            "of their own are accepted: nothing is looked up or run here");
  EXPECT_EQ(message_refused(R"("tools":[{"name":"f"}])"),
            "tools[0].input_schema: tools[0] has no input_schema; it must be a JSON Schema");
  EXPECT_EQ(message_refused(R"("output_config":{"format":{"type":"json_schema"}})"),
            "output_config.format.schema: output_config.format.schema is missing; "
            "output_config.format needs it");
  EXPECT_EQ(message_refused(R"("thinking":{"type":"enabled","display":"omitted"})"),
            "thinking.display: thinking.display must be \"summarized\", or absent: thoughts are "
            "shown as they are; take thinking.display out");
  EXPECT_EQ(message_refused(R"("mcp_servers":[])"), "nothing is wrong");
  EXPECT_EQ(message_refused(R"("container":"x")"),
            "container: container is not supported, so remove it: nothing is run here");
}

TEST(MessagesBody, CountingTokensNeedsNoMaxTokens) {
  const auto result =
      translate(Dialect::kMessages,
                json::parse(R"({"messages":[{"role":"user","content":"a"}]})").as_object(),
                {.counts_only = true});
  EXPECT_TRUE(std::holds_alternative<Translation>(result));
}

TEST(Origins, OnlyTheNamesOfTheFieldAreRewritten) {
  Origins origins;
  origins.add("messages", "input");
  origins.add("messages[1]", "input[4]");
  const llm::Failure own = origins.to_client(
      {.message = "messages[1].content says \"messages[2]\" and the_messages; see messages.",
       .param = "messages[1].content",
       .raw = "{}"});
  EXPECT_EQ(own.param, "input[4].content");
  EXPECT_EQ(own.message, "input[4].content says \"messages[2]\" and the_messages; see input.");
  EXPECT_EQ(own.raw, "");
}

// Every row of the tables: what is refused names itself, what is accepted as an exception is.
TEST(TranslatedRules, HoldForEveryRefusedField) {
  for (const Dialect dialect : {Dialect::kResponses, Dialect::kMessages}) {
    for (const TranslatedRule& rule : translated_rules(dialect)) {
      if (rule.use != llm::FieldUse::kRefused) continue;
      json::object body = dialect == Dialect::kMessages ? json::parse(R"({"max_tokens":1,
                                    "messages":[{"role":"user","content":"a"}]})")
                                                              .as_object()
                                                        : json::object{{"input", "a"}};
      body[rule.name] = json::object{{"odd", 1}};
      auto result = translate(dialect, body);
      ASSERT_TRUE(std::holds_alternative<llm::Failure>(result)) << rule.name;
      EXPECT_EQ(std::get<llm::Failure>(result).param, rule.name);
      EXPECT_FALSE(rule.instead.empty()) << rule.name;
      if (rule.values.empty()) continue;
      body[rule.name] = json::parse(rule.values);
      result = translate(dialect, body);
      EXPECT_TRUE(std::holds_alternative<Translation>(result)) << rule.name;
    }
  }
}

}  // namespace
}  // namespace windrow::api
