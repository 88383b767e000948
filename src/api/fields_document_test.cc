// docs/api.md says what becomes of each field, of members inside of fields, of parameters of lists
// and of headers; this holds it to the code. (The fields that a body of /v1/chat/completions,
// /v1/completions, /v1/embeddings and /v1/rerank shares with a line of a file are in
// docs/formats.md, which llm/formats_document_test.cc holds to the same table.)
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <cctype>
#include <filesystem>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "api/call_reader.h"
#include "api/dialects/translation.h"
#include "api/openapi.h"
#include "api/openapi_bodies.h"
#include "api/testing/document.h"
#include "batches/batch_request.h"
#include "llm/request_json.h"

namespace windrow::api {
namespace {

namespace json = boost::json;
using llm::Endpoint;
using llm::FieldUse;
using testing::document_part;
using testing::expect_part;
using testing::in_backticks;
using testing::read_text;

constexpr FieldUse kHonoured = FieldUse::kHonoured;
constexpr FieldUse kWithoutEffect = FieldUse::kWithoutEffect;
constexpr FieldUse kRefused = FieldUse::kRefused;

std::string_view word_for(FieldUse use) {
  switch (use) {
    case FieldUse::kHonoured:
      return "honoured";
    case FieldUse::kWithoutEffect:
      return "without effect";
    case FieldUse::kRefused:
      break;
  }
  return "refused";
}

// --- what the server takes out of a body ------------------------------------------------------

std::string endpoint_names(llm::EndpointSet set, llm::EndpointSet without) {
  std::string names;
  for (const Endpoint endpoint : llm::endpoints()) {
    if (!set.contains(endpoint) || without.contains(endpoint)) continue;
    names += fmt::format("{}`{}`", names.empty() ? "" : ", ", llm::url_of(endpoint));
  }
  return names;
}

TEST(FieldsDocument, ListsWhatTheServerTakesOutOfABody) {
  std::string table = "| field | of | | what it does, or why |\n|---|---|---|---|\n";
  for (const ServerField& field : server_fields()) {
    // Of two of one name the first counts.
    llm::EndpointSet before;
    for (const ServerField& other : server_fields()) {
      if (&other == &field) break;
      if (other.name == field.name) before = other.endpoints;
    }
    table += fmt::format("| `{}` | {} | {} | {} |\n", field.name,
                         endpoint_names(field.endpoints, before), word_for(field.use),
                         field.description);
  }
  expect_part("fields of the server", table);
}

// --- other dialects ---------------------------------------------------------------------------

std::string fields_table(Dialect dialect) {
  std::string table = "| field | | values, or why |\n|---|---|---|\n";
  for (const TranslatedRule& rule : translated_rules(dialect)) {
    const bool refused = rule.use == kRefused;
    const std::string but =
        refused && !rule.values.empty() ? fmt::format(", but for {}", rule.values) : "";
    table += fmt::format("| `{}` | {}{} | {} |\n", rule.name, word_for(rule.use), but,
                         refused ? rule.instead : rule.values);
  }
  return table;
}

TEST(FieldsDocument, ListsTheFieldsOfOtherApis) {
  expect_part("fields of responses", fields_table(Dialect::kResponses));
  expect_part("fields of messages", fields_table(Dialect::kMessages));
}

// --- what is inside of fields -----------------------------------------------------------------

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
     "`system`, `developer`, `user`, `assistant` or `tool`; a string, or parts",
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
    {Asked::kChat, "`messages[]`: any other that is null or `[]`", kWithoutEffect, kAsItCame,
     R"({"messages":[{"role":"assistant","content":"a","refusal":null,"annotations":[],
         "audio":null,"function_call":null},{"role":"user","content":"b"}]})"},
    {Asked::kChat, "`messages[]`: `function_call`", kRefused, "tool_calls is its successor",
     R"({"messages":[{"role":"assistant","function_call":{"name":"f","arguments":"{}"}}]})"},
    {Asked::kChat, "`messages[].content[]` of `type` text: `text`", kHonoured,
     "parts are joined without anything between them",
     R"({"messages":[{"role":"user","content":[{"type":"text","text":"a"}]}]})"},
    {Asked::kChat, "`messages[].content[]`: `cache_control`, `prompt_cache_breakpoint`",
     kWithoutEffect, kShared,
     R"({"messages":[{"role":"user","content":[{"type":"text","text":"a",
         "cache_control":{"type":"ephemeral"},"prompt_cache_breakpoint":{}}]}]})"},
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
    {Asked::kChat, "`messages[].tool_calls[]`: `index`", kWithoutEffect,
     "clients keep it that put a stream together",
     R"({"messages":[{"role":"assistant","tool_calls":[{"id":"c","type":"function","index":3,
         "function":{"name":"f","arguments":"{}"}}]},
         {"role":"tool","tool_call_id":"c","content":"b"}]})"},
    {Asked::kChat, "`tools[]` of `type` function: `function`", kHonoured,
     "with its name, its description and its parameters",
     R"({"messages":[{"role":"user","content":"a"}],"tools":[{"type":"function",
         "function":{"name":"f","description":"d","parameters":{"type":"object"}}}]})"},
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
    {Asked::kResponses, "`input[]`: `id`, `status`, `structure`", kWithoutEffect, kAsItCame,
     R"({"input":[{"type":"message","id":"m","status":"completed","structure":"valid",
         "role":"assistant","content":"a"},{"role":"user","content":"b"}]})"},
    {Asked::kResponses,
     "`input[].content[]`: `annotations`, `logprobs`, `parsed`, `prompt_cache_breakpoint`",
     kWithoutEffect, kAsItCame,
     R"({"input":[{"role":"assistant","content":[{"type":"output_text","text":"a",
         "annotations":[],"logprobs":[],"parsed":{},"prompt_cache_breakpoint":{}}]},
         {"role":"user","content":"b"}]})"},
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
    {Asked::kResponses, "`input[]` of `type` item_reference", kRefused, "no item is kept here",
     R"({"input":[{"type":"item_reference","id":"x"}]})"},
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
    {Asked::kMessages, "`output_config`: `effort`", kHonoured,
     "`reasoning_effort` where the model's template knows that, else without effect",
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
  Catalogue catalogue;
  catalogue.add({.name = "m",
                 .endpoints = {Endpoint::kChatCompletions, Endpoint::kCompletions,
                               Endpoint::kEmbeddings, Endpoint::kRerank}});
  return read_call(input, {}, catalogue);
}

TEST(FieldsDocument, ListsWhatIsInsideOfFields) {
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

TEST(FieldsDocument, WhatIsInNoTableIsRefusedByName) {
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

// --- files, batches and lists -----------------------------------------------------------------

const json::object& description() {
  static const json::object made = openapi_document("1", false);
  return made;
}

std::set<std::string> properties_of(std::string_view schema) {
  std::set<std::string> names;
  const json::value& form = description().at("components").at("schemas").at(schema);
  for (const auto& property : form.at("properties").as_object())
    names.emplace(property.key());
  return names;
}

std::set<std::string> questions_of(std::string_view path) {
  std::set<std::string> names;
  const json::object& operation = description().at("paths").at(path).at("get").as_object();
  for (const json::value& reference : operation.at("parameters").as_array()) {
    const std::string_view name = reference.at("$ref").as_string();
    const json::value& parameter =
        description().at("components").at("parameters").at(name.substr(name.rfind('/') + 1));
    names.emplace(parameter.at("name").as_string());
  }
  return names;
}

// What the first group of the pattern finds in the sources of this folder, tests left out.
std::set<std::string> found_in_sources(const std::string& folder, const std::regex& pattern) {
  std::set<std::string> found;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(
           fmt::format("{}/src/{}", WINDROW_SOURCE_DIR, folder))) {
    const std::string name = entry.path().filename();
    const bool is_source = name.ends_with(".cc") || name.ends_with(".h");
    if (!is_source || name.ends_with("_test.cc") ||
        entry.path().string().find("/testing/") != std::string::npos)
      continue;
    const std::string text = read_text(entry.path());
    for (std::sregex_iterator at(text.begin(), text.end(), pattern); at != std::sregex_iterator();
         ++at)
      found.insert((*at)[1]);
  }
  return found;
}

// The first column of the rows for `of`.
std::set<std::string> documented_for(std::string_view of) {
  std::set<std::string> names;
  const std::string table = document_part("fields of files and batches");
  const std::regex row(R"(\| `([^`]+)` \| `([^`]+)` \|)");
  for (std::sregex_iterator at(table.begin(), table.end(), row); at != std::sregex_iterator(); ++at)
    if ((*at)[2].str() == of) names.insert((*at)[1]);
  return names;
}

TEST(FieldsDocument, ListsWhatFilesAndBatchesAreAskedWith) {
  EXPECT_EQ(documented_for("POST /v1/files"), properties_of("FileUpload"));
  EXPECT_EQ(documented_for("POST /v1/batches"), properties_of("BatchCreation"));
  EXPECT_EQ(documented_for("GET /v1/files"), questions_of("/v1/files"));
  EXPECT_EQ(documented_for("GET /v1/batches"), questions_of("/v1/batches"));

  // And the code has these and no others.
  EXPECT_EQ(found_in_sources("api", std::regex(R"re(head\.name == "([^"]+)")re")),
            properties_of("FileUpload"));
  for (const std::string& name : properties_of("BatchCreation")) {
    const auto read = batches::read_batch_request(json::object{{name, nullptr}});
    const auto* failure = std::get_if<llm::Failure>(&read);
    EXPECT_TRUE(failure == nullptr || failure->code != "unknown_parameter") << name;
  }
  const auto other = batches::read_batch_request(json::object{{"tone", nullptr}});
  EXPECT_EQ(std::get<llm::Failure>(other).code, "unknown_parameter");
}

// --- headers ----------------------------------------------------------------------------------

std::string small(std::string_view text) {
  std::string letters(text);
  std::ranges::transform(letters, letters.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return letters;
}

// Of the rows with this word in the second column.
std::set<std::string> documented_headers(std::string_view use) {
  std::set<std::string> names;
  std::istringstream lines(document_part("headers"));
  std::string line;
  while (std::getline(lines, line)) {
    const size_t second = line.find(" | ");
    if (second == std::string::npos || !line.substr(second + 3).starts_with(use)) continue;
    for (const std::string& name : in_backticks(line.substr(0, second)))
      names.insert(small(name));
  }
  return names;
}

// The headers of requests that the sources ask for by name. HTTP's own are another module's.
std::set<std::string> headers_read() {
  std::set<std::string> names;
  for (const char* pattern :
       {R"re((?:headers|request)\.get\(\s*"([A-Za-z-]+)"\))re",
        R"re([ (]header\("([A-Za-z-]+)"\))re", R"re(k\w+Header = "([A-Za-z-]+)")re"}) {
    for (const std::string& name : found_in_sources("api", std::regex(pattern)))
      names.insert(small(name));
  }
  return names;
}

TEST(FieldsDocument, ListsTheHeadersThatAreRead) {
  const std::set<std::string> read = headers_read();
  const std::set<std::string> honoured = documented_headers("honoured");
  EXPECT_GT(honoured.size(), 8U);
  for (const char* name : {"authorization", "x-api-key", "x-windrow-lane", "x-request-id"})
    EXPECT_TRUE(read.contains(name)) << "the sources are not written as this test reads them";
  for (const std::string& name : honoured) {
    const std::string quoted = fmt::format("\"({})\"", name);
    const std::regex literal(quoted, std::regex::icase);
    EXPECT_TRUE(read.contains(name) || !found_in_sources("api", literal).empty())
        << name << " is in docs/api.md and nowhere else";
  }
  for (const std::string& name : documented_headers("without effect"))
    EXPECT_FALSE(read.contains(name)) << name;
  std::set<std::string> all = honoured;
  all.merge(documented_headers("refused"));
  for (const std::string& name : read)
    EXPECT_TRUE(all.contains(name)) << name << " is read and not in docs/api.md";
}

}  // namespace
}  // namespace windrow::api
