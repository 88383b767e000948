// docs/api.md says what becomes of members inside of fields: of messages, parts, tools. Each row is
// a body that has them and is taken, or refused by name.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "api/calls/call_reader.h"
#include "api/storage/response_store.h"
#include "api/testing/document.h"

namespace windrow::api {
namespace {

namespace json = boost::json;
using llm::Endpoint;
using llm::FieldUse;
using testing::expect_part;
using testing::word_for;

constexpr FieldUse kHonoured = FieldUse::kHonoured;
constexpr FieldUse kWithoutEffect = FieldUse::kWithoutEffect;
constexpr FieldUse kRefused = FieldUse::kRefused;

enum class Asked : uint8_t { kChat, kText, kTei, kResponses, kMessages };

// A member of something inside of a body, and a body that has it, which is taken or not.
struct Member {
  Asked asked;
  std::string_view member;
  FieldUse use;
  std::string_view values;
  std::string_view body;
};

constexpr std::string_view kOnlyText = "texts are all that is read";
constexpr std::string_view kNothingRuns = "nothing is looked up or run here";
constexpr std::string_view kAsItCame = "an answer may be sent back as it came";
constexpr std::string_view kShared = "what prompts have in common is shared anyway";

const std::vector<Member> kMembers = {
    {Asked::kChat, "`messages[]`: `role`, `content`, `name`", kHonoured,
     "`system`, `developer`, `user`, `assistant` or `tool`; a string, or parts; a name without a "
     "place in the template stands in front of the content, of `assistant` without effect",
     R"({"messages":[{"role":"developer","content":"a"},
         {"role":"user","name":"n","content":[{"type":"text","text":"b"}]}]})"},
    {Asked::kChat, "`messages[]`: `tool_calls`, `tool_call_id`", kHonoured,
     "of `assistant`, and of `tool`",
     R"({"messages":[{"role":"user","content":"a"},{"role":"assistant","tool_calls":[{"id":"c",
         "type":"function","index":0,"function":{"name":"f","arguments":"{}"}}]},
         {"role":"tool","tool_call_id":"c","content":"b"}]})"},
    {Asked::kChat, "`messages[]`: `reasoning_content`, `reasoning`", kHonoured,
     "of `assistant`; what the template does with it is its affair",
     R"({"messages":[{"role":"assistant","content":"a","reasoning_content":"b"},
         {"role":"user","content":"c"}]})"},
    {Asked::kChat, "`messages[]` of `assistant`: any other", kWithoutEffect, kAsItCame,
     R"({"messages":[{"role":"assistant","content":"a","refusal":null,"annotations":[{}],
         "id":"m","parsed":{},"reasoning_details":[{}]},{"role":"user","content":"b"}]})"},
    {Asked::kChat, "`messages[]` of `assistant`: `refusal` without `content`", kHonoured,
     "it is what the model said, and counts as content",
     R"({"messages":[{"role":"assistant","content":null,"refusal":"a"},
         {"role":"user","content":"b"}]})"},
    {Asked::kChat, "`messages[]` of other roles: any other, but for null and `[]`", kRefused,
     "no template reads it", R"({"messages":[{"role":"user","content":"a","refusal":"b"}]})"},
    {Asked::kChat, "`messages[]`: `function_call`", kRefused, "tool_calls is its successor",
     R"({"messages":[{"role":"assistant","function_call":{"name":"f","arguments":"{}"}}]})"},
    {Asked::kChat, "`messages[]`: `audio`", kRefused, kOnlyText,
     R"({"messages":[{"role":"assistant","audio":{"id":"a"}}]})"},
    {Asked::kChat, "`messages[].content[]` of `type` text: `text`", kHonoured,
     "parts are joined without anything between them",
     R"({"messages":[{"role":"user","content":[{"type":"text","text":"a"}]}]})"},
    {Asked::kChat, "`messages[].content[]`: `cache_control`, `prompt_cache_breakpoint`",
     kWithoutEffect, kShared,
     R"({"messages":[{"role":"user","content":[{"type":"text","text":"a",
         "cache_control":{"type":"ephemeral"},"prompt_cache_breakpoint":{}}]}]})"},
    {Asked::kChat, "`messages[].content[]` of `assistant`: `type` refusal", kHonoured,
     "its `refusal` counts as text",
     R"({"messages":[{"role":"assistant","content":[{"type":"refusal","refusal":"a"}]},
         {"role":"user","content":"b"}]})"},
    {Asked::kChat, "`messages[].content[]` of `assistant`: any other", kWithoutEffect, kAsItCame,
     R"({"messages":[{"role":"assistant","content":[{"type":"text","text":"a","role":"assistant",
         "refusal":null,"annotations":[{}],"id":"p"}]},{"role":"user","content":"b"}]})"},
    {Asked::kChat, "`messages[].content[]` of `type` image_url", kRefused, kOnlyText,
     R"({"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"x"}}]}]})"},
    {Asked::kChat, "`messages[].content[]` of `type` input_audio", kRefused, kOnlyText,
     R"({"messages":[{"role":"user","content":[{"type":"input_audio","input_audio":{}}]}]})"},
    {Asked::kChat, "`messages[].content[]` of `type` file", kRefused, kOnlyText,
     R"({"messages":[{"role":"user","content":[{"type":"file","file":{}}]}]})"},
    {Asked::kChat, "`messages[].tool_calls[]`: `id`, `function`", kHonoured,
     "`arguments` are an object's text, or the object",
     R"({"messages":[{"role":"assistant","tool_calls":[{"id":"c","type":"function",
         "function":{"name":"f","arguments":{"a":1}}}]},
         {"role":"tool","tool_call_id":"c","content":"b"}]})"},
    {Asked::kChat, "`messages[].tool_calls[]`, `messages[].tool_calls[].function`: any other",
     kWithoutEffect, kAsItCame,
     R"({"messages":[{"role":"assistant","tool_calls":[{"id":"c","type":"function","index":3,
         "extra_content":{},"function":{"name":"f","arguments":"{}","parsed_arguments":{}}}]},
         {"role":"tool","tool_call_id":"c","content":"b"}]})"},
    {Asked::kChat, "`tools[]` of `type` function: `function`", kHonoured,
     "name, description, parameters, strict and return",
     R"({"messages":[{"role":"user","content":"a"}],"tools":[{"type":"function",
         "function":{"name":"f","description":"d","parameters":{"type":"object"},"strict":true,
         "return":{"type":"string"}}}]})"},
    {Asked::kChat, "`tools[]`: `cache_control`", kWithoutEffect, kShared,
     R"({"messages":[{"role":"user","content":"a"}],"tools":[{"type":"function",
         "cache_control":{"type":"ephemeral"},"function":{"name":"f"}}]})"},
    {Asked::kChat, "`tools[]`, `tools[].function`: any other", kRefused, "nobody would read it",
     R"({"messages":[{"role":"user","content":"a"}],"tools":[{"type":"function",
         "function":{"name":"f","returns":{}}}]})"},
    {Asked::kChat, "`tools[]` of `type` custom", kRefused, "a call has an object of arguments",
     R"({"messages":[{"role":"user","content":"a"}],"tools":[{"type":"custom",
         "custom":{"name":"f"}}]})"},
    {Asked::kChat, "`stream_options`: `include_usage`", kHonoured, "true or false",
     R"({"messages":[{"role":"user","content":"a"}],"stream":true,
         "stream_options":{"include_usage":true}})"},
    {Asked::kChat, "`stream_options`: `include_obfuscation`", kWithoutEffect,
     "anything: TLS hides what is said",
     R"({"messages":[{"role":"user","content":"a"}],"stream":true,
         "stream_options":{"include_obfuscation":true}})"},
    {Asked::kChat, "`stream_options`: `continuous_usage_stats`", kWithoutEffect,
     "anything: the usage comes once, with the last event",
     R"({"messages":[{"role":"user","content":"a"}],"stream":true,
         "stream_options":{"include_usage":true,"continuous_usage_stats":true}})"},
    {Asked::kChat, "`stream_options`: any other", kRefused, "it is not known",
     R"({"messages":[{"role":"user","content":"a"}],"stream":true,
         "stream_options":{"chunk_size":1}})"},
    {Asked::kTei, "`texts`, `raw_scores`, `return_text`", kHonoured,
     "`documents` of `/v1/rerank`; scores as the model has them; `return_documents`",
     R"({"query":"a","texts":["b"],"raw_scores":true,"return_text":true})"},
    {Asked::kTei, "`truncate`: false, `truncation_direction`", kWithoutEffect,
     "what is too long fails", R"({"query":"a","texts":["b"],"truncate":false,
         "truncation_direction":"Right"})"},
    {Asked::kTei, "`truncate`: true", kRefused, "a text that is too long fails; cut it before",
     R"({"query":"a","texts":["b"],"truncate":true})"},
    {Asked::kResponses, "`input[]` of `type` message: `role`, `content`", kHonoured,
     "`type` may be absent; parts of `type` input_text, output_text, text or refusal",
     R"({"input":[{"role":"user","content":"a"},{"type":"message","role":"assistant","content":[
         {"type":"output_text","text":"b"},{"type":"refusal","refusal":"c"}]},
         {"role":"user","content":[{"type":"input_text","text":"d"}]}]})"},
    {Asked::kResponses, "`input[]`: `id`, `status`, `phase`, `structure`, `structure_warnings`",
     kWithoutEffect, "what was listed once may be sent again",
     R"({"input":[{"type":"message","id":"m","status":"completed","structure":"valid",
         "structure_warnings":["at #/a: b"],
         "role":"user","content":"a"}]})"},
    {Asked::kResponses,
     "`input[]` and its `content[]`, of `assistant`, function_call and reasoning: any other",
     kWithoutEffect, kAsItCame,
     R"({"input":[{"type":"message","role":"assistant","provider_data":{},
         "content":[{"type":"output_text","text":"a","role":"x"}]},
         {"type":"function_call","call_id":"c","name":"f","arguments":"{}","namespace":"n"},
         {"type":"function_call_output","call_id":"c","output":"b"}]})"},
    {Asked::kResponses,
     "`input[].content[]`: `annotations`, `logprobs`, `parsed`, `prompt_cache_breakpoint`",
     kWithoutEffect, kAsItCame,
     R"({"input":[{"role":"user","content":[{"type":"output_text","text":"a",
         "annotations":[],"logprobs":[],"parsed":{},"prompt_cache_breakpoint":{}}]}]})"},
    {Asked::kResponses, "`input[].content[]` of `type` input_image", kRefused, kOnlyText,
     R"({"input":[{"role":"user","content":[{"type":"input_image","image_url":"x"}]}]})"},
    {Asked::kResponses, "`input[].content[]` of `type` input_file", kRefused, kOnlyText,
     R"({"input":[{"role":"user","content":[{"type":"input_file","file_id":"x"}]}]})"},
    {Asked::kResponses, "`input[]` of `type` function_call: `call_id`, `name`, `arguments`",
     kHonoured, "`parsed_arguments` without effect",
     R"({"input":[{"type":"function_call","call_id":"c","name":"f","arguments":"{}",
         "parsed_arguments":{}},{"type":"function_call_output","call_id":"c","output":"a"}]})"},
    {Asked::kResponses, "`input[]` of `type` function_call_output: `call_id`, `output`", kHonoured,
     "a string, or parts",
     R"({"input":[{"type":"function_call","call_id":"c","name":"f","arguments":"{}"},
         {"type":"function_call_output","call_id":"c",
          "output":[{"type":"input_text","text":"a"}]}]})"},
    {Asked::kResponses, "`input[]` of `type` reasoning: `content`", kHonoured,
     "`summary` and `encrypted_content` without effect: they are not what was thought",
     R"({"input":[{"type":"reasoning","summary":[],"encrypted_content":"x",
         "content":[{"type":"reasoning_text","text":"a"}]},{"role":"assistant","content":"b"},
         {"role":"user","content":"c"}]})"},
    {Asked::kResponses, "`input[]` of `type` item_reference: `id`", kHonoured,
     "an item of a response that is kept; `type` may be absent",
     R"({"input":[{"type":"item_reference","id":"msg_1"},{"role":"user","content":"a"}]})"},
    {Asked::kResponses, "`input[]` of any other `type`", kRefused, kNothingRuns,
     R"({"input":[{"type":"web_search_call","id":"x"}]})"},
    {Asked::kResponses, "`tools[]` of `type` function", kHonoured,
     "name, description, parameters and strict",
     R"({"input":"a","tools":[{"type":"function","name":"f","description":"d",
         "parameters":{"type":"object"},"strict":false}]})"},
    {Asked::kResponses, "`tools[]` of any other `type`", kRefused, kNothingRuns,
     R"({"input":"a","tools":[{"type":"web_search"}]})"},
    {Asked::kResponses, "`text`: `verbosity`", kWithoutEffect, "ask for it in the input",
     R"({"input":"a","text":{"verbosity":"low"}})"},
    {Asked::kResponses, "`reasoning`: `effort`", kHonoured, "as `reasoning_effort` of a chat",
     R"({"input":"a","reasoning":{"effort":"max"}})"},
    {Asked::kResponses, "`reasoning`: `summary`, `generate_summary`", kWithoutEffect,
     "thoughts come as they are", R"({"input":"a","reasoning":{"summary":"auto"}})"},
    {Asked::kResponses, "`include[]`: any but message.output_text.logprobs", kRefused, kNothingRuns,
     R"({"input":"a","include":["file_search_call.results"]})"},
    {Asked::kMessages, "`messages[].content[]` of `type` text, tool_use, tool_result, thinking",
     kHonoured, "content of a tool_result is a string, or text blocks",
     R"({"messages":[{"role":"user","content":[{"type":"text","text":"a"}]},
         {"role":"assistant","content":[{"type":"thinking","thinking":"b","signature":""},
           {"type":"tool_use","id":"c","name":"f","input":{}}]},
         {"role":"user","content":[{"type":"tool_result","tool_use_id":"c",
           "content":[{"type":"text","text":"d"}]}]}]})"},
    {Asked::kMessages,
     "`messages[].content[]`: `cache_control`, `citations`, `signature`, `is_error`, `caller`",
     kWithoutEffect, kShared,
     R"({"messages":[{"role":"user","content":[{"type":"text","text":"a","citations":[],
           "cache_control":{"type":"ephemeral"}}]},
         {"role":"assistant","content":[{"type":"thinking","thinking":"b","signature":"x"},
           {"type":"tool_use","id":"c","name":"f","input":{},"caller":{"type":"direct"}}]},
         {"role":"user","content":[{"type":"tool_result","tool_use_id":"c","is_error":true}]}]})"},
    {Asked::kMessages, "`messages[]` of `assistant` and its `content[]`: any other", kWithoutEffect,
     kAsItCame,
     R"({"messages":[{"id":"m","type":"message","role":"assistant","usage":{},"content":[
           {"type":"text","text":"a","parsed":{}}]},{"role":"user","content":"b"}]})"},
    {Asked::kMessages, "`messages[].content[]` of `type` redacted_thinking", kWithoutEffect,
     "nobody here can read it",
     R"({"messages":[{"role":"assistant","content":[{"type":"redacted_thinking","data":"x"},
         {"type":"text","text":"a"}]},{"role":"user","content":"b"}]})"},
    {Asked::kMessages, "`messages[].content[]` of `type` image", kRefused, kOnlyText,
     R"({"messages":[{"role":"user","content":[{"type":"image","source":{}}]}]})"},
    {Asked::kMessages, "`messages[].content[]` of `type` document", kRefused, kOnlyText,
     R"({"messages":[{"role":"user","content":[{"type":"document","source":{}}]}]})"},
    {Asked::kMessages, "`messages[]`: the assistant's as the last one", kRefused,
     "an answer cannot be begun for the model",
     R"({"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"}]})"},
    {Asked::kMessages, "`tools[]`: `name`, `description`, `input_schema`, `strict`", kHonoured,
     "`type` is custom, or absent",
     R"({"messages":[{"role":"user","content":"a"}],"tools":[{"type":"custom","name":"f",
         "description":"d","input_schema":{"type":"object"},"strict":false}]})"},
    {Asked::kMessages, "`tools[]`: `cache_control`, `eager_input_streaming`, `input_examples`",
     kWithoutEffect, kShared,
     R"({"messages":[{"role":"user","content":"a"}],"tools":[{"name":"f",
         "input_schema":{"type":"object"},"cache_control":{"type":"ephemeral"},
         "eager_input_streaming":true,"input_examples":[{}]}]})"},
    {Asked::kMessages, "`tools[]` of any other `type`", kRefused, kNothingRuns,
     R"({"messages":[{"role":"user","content":"a"}],
         "tools":[{"type":"web_search_20250305","name":"web_search"}]})"},
    {Asked::kMessages, "`tools[]`: `defer_loading`", kRefused, "all tools are in the prompt",
     R"({"messages":[{"role":"user","content":"a"}],"tools":[{"name":"f",
         "input_schema":{"type":"object"},"defer_loading":true}]})"},
    {Asked::kMessages, "`thinking`: `display`, but for summarized", kRefused,
     "thoughts come as they are",
     R"({"messages":[{"role":"user","content":"a"}],
         "thinking":{"type":"enabled","display":"omitted"}})"},
    {Asked::kMessages, "`output_config`: `effort`", kHonoured, "as `reasoning_effort` of a chat",
     R"({"messages":[{"role":"user","content":"a"}],"output_config":{"effort":"low"}})"},
};

std::string_view url_of(Asked asked) {
  switch (asked) {
    case Asked::kChat:
      return llm::url_of(Endpoint::kChatCompletions);
    case Asked::kText:
      return llm::url_of(Endpoint::kCompletions);
    case Asked::kTei:
      return "/rerank";
    case Asked::kResponses:
      return kResponsesPath;
    case Asked::kMessages:
      break;
  }
  return kMessagesPath;
}

std::variant<CallPlan, llm::Failure> read(Asked asked, std::string_view text) {
  json::object body = json::parse(text).as_object();
  CallInput input;
  if (asked == Asked::kText) input.endpoint = Endpoint::kCompletions;
  if (asked == Asked::kTei) input.endpoint = Endpoint::kRerank;
  input.may_be_tei = asked == Asked::kTei;
  if (asked == Asked::kResponses) input.dialect = Dialect::kResponses;
  if (asked == Asked::kMessages) {
    input.dialect = Dialect::kMessages;
    body["max_tokens"] = 1;
  }
  body["model"] = "m";
  input.body = json::serialize(body);
  ModelRegistry registry;
  registry.add({.name = "m",
                .endpoints = {Endpoint::kChatCompletions, Endpoint::kCompletions,
                              Endpoint::kEmbeddings, Endpoint::kRerank}});
  ResponseStore store(size_t{1} << 20);
  store.keep("", {.id = "resp_1",
                  .body = R"({"output":[{"id":"msg_1","type":"message",
                  "role":"assistant","content":[{"type":"output_text","text":"b"}]}]})",
                  .output_ids = {"msg_1"}});
  const KeyedResponses earlier(store, "");
  return read_call(input, {}, registry, &earlier);
}

TEST(MembersDocument, ListsWhatIsInsideOfFields) {
  std::string table = "| of | member | | values, or why |\n|---|---|---|---|\n";
  for (const Member& row : kMembers) {
    table += fmt::format("| `{}` | {} | {} | {} |\n", url_of(row.asked), row.member,
                         word_for(row.use), row.values);
    const auto outcome = read(row.asked, row.body);
    const auto* failure = std::get_if<llm::Failure>(&outcome);
    if (row.use == kRefused) {
      ASSERT_NE(failure, nullptr) << row.member << ": " << row.body;
      EXPECT_EQ(failure->status, 400) << row.member;
      EXPECT_NE(failure->param, "") << row.member;
    } else {
      EXPECT_EQ(failure, nullptr) << row.member << ": " << failure->message;
    }
  }
  expect_part("members", table);
}

TEST(MembersDocument, WhatIsInNoTableIsRefusedByName) {
  struct Case {
    Asked asked;
    std::string_view body;
    std::string_view param;
  };
  for (const Case& one : std::vector<Case>{
           {Asked::kChat, R"({"messages":[{"role":"user","content":"a"}],"tone":1})", "tone"},
           {Asked::kText, R"({"prompt":"a","tone":1})", "tone"},
           {Asked::kTei, R"({"query":"a","texts":["b"],"tone":1})", "tone"},
           {Asked::kResponses, R"({"input":"a","tone":1})", "tone"},
           {Asked::kMessages, R"({"messages":[{"role":"user","content":"a"}],"tone":1})", "tone"},
           {Asked::kChat, R"({"messages":[{"role":"user","content":"a","tone":1}]})",
            "messages[0].tone"},
           {Asked::kResponses, R"({"input":[{"role":"user","content":"a","tone":1}]})",
            "input[0].tone"},
           {Asked::kMessages, R"({"messages":[{"role":"user","content":"a","tone":1}]})",
            "messages[0].tone"}}) {
    const auto outcome = read(one.asked, one.body);
    const auto* failure = std::get_if<llm::Failure>(&outcome);
    ASSERT_NE(failure, nullptr) << one.body;
    EXPECT_EQ(failure->param, one.param);
  }
}

}  // namespace
}  // namespace windrow::api
