// The grammar of calls against the writer of calls: what a family writes it takes, and nothing
// that names another tool or has other arguments.
#include "engine/structure/call_grammar.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <fstream>
#include <iterator>

#include "chat/marks.h"
#include "grammar/matcher.h"

namespace windrow::engine {
namespace {

namespace json = boost::json;

using chat::ToolSyntax;
using chat::WrittenCall;
using llm::ToolUse;

constexpr std::string_view kTools = R"([
  {"type": "function", "function": {"name": "add", "parameters": {"type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": "string", "maxLength": 3},
                   "c": {"type": "boolean"}},
    "required": ["a", "b"]}}},
  {"type": "function", "function": {"name": "add_all", "parameters": {"type": "object",
    "properties": {"of": {"type": "array", "items": {"type": "number"}}}, "required": ["of"]}}},
  {"type": "function", "function": {"name": "now"}}])";

ToolSyntax syntax_of(std::string_view name) {
  std::ifstream file(fmt::format("{}/tests/templates/corpus/{}.jinja", WINDROW_SOURCE_DIR, name));
  EXPECT_TRUE(file) << name;
  return chat::recognise_tool_syntax(std::string(std::istreambuf_iterator(file), {}));
}

llm::StructureSpec spec(const llm::ToolChoice& choice, std::string_view tools = kTools) {
  return {.kind = llm::StructureSpec::Kind::kToolCalls,
          .text = std::string(tools),
          .tool_choice = choice};
}

// Text by text, on a vocabulary of bytes and maybe longer tokens.
class Language {
 public:
  Language(const ToolSyntax& syntax, const llm::StructureSpec& spec, TokenEscapes escapes = {},
           const std::vector<std::string>& longer_tokens = {})
      : format_{.syntax = syntax, .escapes = std::move(escapes)} {
    const auto tools = callable_tools(spec);
    if (!tools) {
      error_ = tools.error().message;
      return;
    }
    auto made = call_grammar(*tools, format_, {});
    if (!made) {
      error_ = made.error().message;
      return;
    }
    for (size_t i = 0; i < 256; ++i)
      tokens_.emplace_back(1, static_cast<char>(i));
    tokens_.insert(tokens_.end(), longer_tokens.begin(), longer_tokens.end());
    grammar_ = std::make_shared<grammar::CompiledGrammar>(*std::move(made),
                                                          grammar::TokenTables::make(tokens_, {}));
  }

  // Whether the mask behind `text` has a token, and whether it is accepted there.
  bool may_follow(std::string_view text, std::string_view token) const {
    grammar::Matcher matcher(grammar_);
    if (!matcher.accept_bytes(format_.escapes.escape(text))) return false;
    const auto id =
        static_cast<grammar::Token>(std::ranges::find(tokens_, token) - tokens_.begin());
    return matcher.mask()->allows(id) && matcher.accept(id);
  }

  bool has(std::string_view text) const {
    grammar::Matcher matcher(grammar_);
    return matcher.accept_bytes(format_.escapes.escape(text)) && matcher.can_end();
  }
  std::string begins_with() const { return grammar::Matcher(grammar_).forced_bytes(1000); }
  const std::string& error() const { return error_; }

 private:
  CallFormat format_;
  std::vector<std::string> tokens_;
  std::shared_ptr<grammar::CompiledGrammar> grammar_;
  std::string error_;
};

std::string written(const ToolSyntax& syntax, std::initializer_list<WrittenCall> calls) {
  return chat::write_calls(syntax, std::span(calls.begin(), calls.size()));
}

const WrittenCall kAdd = {.name = "add", .arguments = R"({"a": -7, "b": "x\n"})"};
const WrittenCall kAddAll = {.name = "add_all", .arguments = R"({"of": [25]})"};
const WrittenCall kNow = {.name = "now", .arguments = "{}"};

const std::vector<std::string>& families() {
  static const std::vector<std::string> kNames = {"qwen3-0.6b",
                                                  "granite-4.0",
                                                  "mistral-nemo",
                                                  "granite-3.3",
                                                  "apriel-1.5",
                                                  "own-llama-3.1-tools",
                                                  "mistral-small-3.2",
                                                  "ministral-3-reasoning",
                                                  "deepseek-r1-distill-qwen",
                                                  "deepseek-v3.1",
                                                  "functionary-3.1",
                                                  "qwen3-coder",
                                                  "qwen3.5-4b",
                                                  "step-3.5-flash",
                                                  "seed-oss",
                                                  "minimax-m2",
                                                  "glm-4.6"};
  return kNames;
}

TEST(CallGrammar, TakesWhatEachFamilyWrites) {
  for (const std::string& name : families()) {
    SCOPED_TRACE(name);
    const ToolSyntax syntax = syntax_of(name);
    ASSERT_EQ(not_enforceable(syntax), std::nullopt);
    const Language language(syntax, spec({.use = ToolUse::kRequired}));
    ASSERT_EQ(language.error(), "");
    for (const WrittenCall& call : {kAdd, kAddAll, kNow})
      EXPECT_TRUE(language.has(written(syntax, {call}))) << call.name;
    const std::string several = written(syntax, {kAdd, kNow, kAddAll});
    EXPECT_EQ(language.has(several), syntax.several) << several;
    EXPECT_FALSE(language.has(""));
    EXPECT_TRUE(language.begins_with().starts_with(syntax.begin + syntax.open));
  }
}

TEST(CallGrammar, TakesNoOtherToolAndNoOtherArguments) {
  for (const std::string& name : families()) {
    SCOPED_TRACE(name);
    const ToolSyntax syntax = syntax_of(name);
    const Language language(syntax, spec({.use = ToolUse::kRequired}));
    for (const WrittenCall& call :
         {WrittenCall{"ad", R"({"a": 1, "b": "x"})"}, WrittenCall{"adds", R"({"a": 1, "b": "x"})"},
          WrittenCall{"add_all", R"({"a": 1, "b": "x"})"}, WrittenCall{"add", R"({"a": 1})"},
          WrittenCall{"add", R"({"a": "z", "b": "x"})"},
          WrittenCall{"add", R"({"a": 1.5, "b": "x"})"},
          WrittenCall{"add", R"({"a": 1, "b": "long"})"},
          WrittenCall{"add", R"({"a": 1, "b": "x", "d": 1})"},
          WrittenCall{"add", R"({"a": 1, "b": "x", "c": 1})"}, WrittenCall{"now", R"({"a": 1})"}}) {
      EXPECT_FALSE(language.has(written(syntax, {call}))) << call.name << call.arguments;
    }
  }
}

TEST(CallGrammar, ArgumentsComeInAnyOrderWhereTheRequestSaysSo) {
  const std::vector<WrittenCall> orders = {
      {.name = "add", .arguments = R"({"b": "x", "a": -7})"},
      {.name = "add", .arguments = R"({"c": true, "b": "x", "a": -7})"},
      {.name = "add", .arguments = R"({"a": -7, "c": false, "b": "x"})"}};
  for (const std::string& name : families()) {
    SCOPED_TRACE(name);
    const ToolSyntax syntax = syntax_of(name);
    const Language any(syntax, spec({.use = ToolUse::kRequired, .any_order = true}));
    const Language definition(syntax, spec({.use = ToolUse::kRequired}));
    ASSERT_EQ(any.error(), "");
    EXPECT_TRUE(any.has(written(syntax, {kAdd})));
    for (const WrittenCall& call : orders) {
      EXPECT_TRUE(any.has(written(syntax, {call}))) << call.arguments;
      EXPECT_FALSE(definition.has(written(syntax, {call}))) << call.arguments;
    }
    for (const char* arguments :
         {R"({"b": "x"})", R"({"b": "x", "a": "z"})", R"({"d": 1, "b": "x", "a": 1})"}) {
      EXPECT_FALSE(any.has(written(syntax, {{.name = "add", .arguments = arguments}})))
          << arguments;
    }
  }
}

TEST(CallGrammar, ANamedToolIsTheOnlyOne) {
  const ToolSyntax syntax = chat::generic_tool_syntax();
  const Language language(syntax, spec({.use = ToolUse::kNamed, .name = "now"}));
  EXPECT_TRUE(language.has(written(syntax, {kNow})));
  EXPECT_TRUE(language.has(written(syntax, {kNow, kNow})));
  EXPECT_FALSE(language.has(written(syntax, {kAdd})));
  EXPECT_EQ(language.begins_with(), written(syntax, {kNow}));
}

// A model writes the end of the arguments and the text behind it with one token where its
// vocabulary has that token, whether it may call once or several times. So in each family every
// token that joins the last brace, or the last tag of a value, with what follows may come.
TEST(CallGrammar, TokensMayJoinTheEndOfTheArgumentsWithWhatFollows) {
  for (const std::string& name : families()) {
    SCOPED_TRACE(name);
    const ToolSyntax syntax = syntax_of(name);
    const std::string one = written(syntax, {kAddAll});
    std::vector<std::string> followed = {one};
    if (syntax.several) followed.push_back(written(syntax, {kAddAll, kNow}));
    const size_t closed = one.size() - (syntax.close + syntax.end).size();
    const size_t joined = one.find_last_not_of(chat::kSpace, closed - 1);
    for (const std::string& text : followed) {
      for (size_t end = joined + 2; end <= std::min(text.size(), joined + 24); ++end) {
        const std::string token = text.substr(joined, end - joined);
        const Language language(syntax, spec({.use = ToolUse::kRequired, .parallel = false}), {},
                                {token});
        ASSERT_EQ(language.error(), "");
        EXPECT_TRUE(language.may_follow(text.substr(0, joined), token)) << token;
      }
    }
  }
}

TEST(CallGrammar, ControlTokensAreSpelled) {
  const ToolSyntax syntax = syntax_of("mistral-small-3.2");
  const Language language(
      syntax, spec({.use = ToolUse::kRequired, .parallel = false}),
      TokenEscapes({{.text = "[TOOL_CALLS]", .token = 5}, {.text = "[ARGS]", .token = 6}}));
  EXPECT_EQ(language.begins_with(), "\xFF[TOOL_CALLS]");
  EXPECT_TRUE(language.has("[TOOL_CALLS]now[ARGS]{}"));
}

TEST(CallGrammar, ATokenThatEndsAnswersIsNotWaitedFor) {
  const TokenEscapes escapes({{.text = "<|call|>", .token = 1, .ends_answer = true},
                              {.text = "<|channel|>", .token = 2},
                              {.text = "<|c", .token = 3}});
  EXPECT_EQ(escapes.escape("a<|channel|>b<|call|>c"), "a\xFF<|channel|>b");
  EXPECT_EQ(escapes.at_front("\xFF<|channel|>b")->token, 2);
  EXPECT_EQ(escapes.at_front("\xFF<|cha")->token, 3);
  EXPECT_EQ(escapes.at_front("<|channel|>"), nullptr);
}

// In either order of a header; what the template of the model writes has the tool first.
TEST(CallGrammar, AMessageCallsOneTool) {
  const ToolSyntax syntax = syntax_of("gpt-oss");
  const Language language(syntax, spec({.use = ToolUse::kRequired}));
  const std::string turn(said_before_calls(syntax));
  const std::string arguments = R"({"a":-7, "b":  "x\n"})";
  std::string call = written(syntax, {kAdd});
  call.resize(call.size() - syntax.close.size());  // a token that ends the answer
  EXPECT_TRUE(language.has(turn + call));
  for (const std::string_view header :
       {"<|channel|>commentary to=functions.add <|constrain|>json<|message|>",
        " to=functions.add<|channel|>commentary json<|message|>",
        " to=functions.add<|channel|>commentary <|constrain|>json<|message|>"}) {
    EXPECT_TRUE(language.has(fmt::format("{}{}{}", turn, header, arguments))) << header;
    EXPECT_FALSE(language.has(fmt::format("{}{}{{}}", turn, header))) << header;
    EXPECT_FALSE(language.has(fmt::format("{}{}", header, arguments))) << header;
  }
  for (const std::string_view header :
       {"<|channel|>commentary to=functions.ad <|constrain|>json<|message|>",
        "<|channel|>final<|message|>", "<|channel|>commentary<|message|>",
        "<|channel|>analysis to=functions.add <|constrain|>json<|message|>"})
    EXPECT_FALSE(language.has(fmt::format("{}{}{}", turn, header, arguments))) << header;
}

TEST(CallGrammar, ASchemaThatCannotBeEnforcedIsRefusedWithItsPlace) {
  constexpr std::string_view kOdd = R"([
    {"type": "function", "function": {"name": "f"}},
    {"type": "function", "function": {"name": "g", "parameters": {"type": "object",
      "properties": {"a": {"uniqueItems": true}}}}}])";
  const ToolSyntax syntax = chat::generic_tool_syntax();
  const Language refused(syntax, spec({.use = ToolUse::kRequired}, kOdd));
  EXPECT_TRUE(refused.error().starts_with("tools[1].function.parameters: at #/properties/a: "))
      << refused.error();
  EXPECT_EQ(tool_at_fault(refused.error()), "tools[1].function.parameters");
  EXPECT_EQ(tool_at_fault("at #/properties/a: of tools[1].function.parameters: no"), std::nullopt);

  // Another one is wanted.
  EXPECT_EQ(Language(syntax, spec({.use = ToolUse::kNamed, .name = "f"}, kOdd)).error(), "");

  // Without strict any object is accepted.
  const Language any(syntax, spec({}, kOdd));
  ASSERT_EQ(any.error(), "");
  EXPECT_TRUE(any.has(written(syntax, {{.name = "g", .arguments = R"({"a": null, "z": [{}]})"}})));
  EXPECT_FALSE(any.has(written(syntax, {{.name = "g", .arguments = "[1]"}})));
  EXPECT_FALSE(any.has(written(syntax, {{.name = "f", .arguments = R"({"a": 1})"}})));
}

// Up to draft 07 a type beside $ref would say nothing.
TEST(CallGrammar, ArgumentsAreObjectsWhateverElseTheSchemaAllows) {
  const std::string alone = R"({"$schema":"http://json-schema.org/draft-07/schema#",
      "$ref":"#/definitions/x","definitions":{"x":{"anyOf":[{"type":"null"},{"enum":[3,"a"]},
      {"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]}]}}})";
  for (const std::string& parameters :
       {alone, std::string(R"({"type":["object","null"],"properties":{"a":{"type":"integer"}},
                              "required":["a"]})"),
        std::string(R"({"properties":{"a":{"type":"integer"}},"required":["a"]})")}) {
    const std::string tools = fmt::format(
        R"([{{"type":"function","function":{{"name":"f","parameters":{}}}}}])", parameters);
    const ToolSyntax json_syntax = chat::generic_tool_syntax();
    const Language as_json(json_syntax, spec({.use = ToolUse::kRequired}, tools));
    ASSERT_EQ(as_json.error(), "");
    EXPECT_TRUE(as_json.has(written(json_syntax, {{.name = "f", .arguments = R"({"a": 1})"}})));
    for (const char* other : {"null", "3", "\"a\"", "[]", "{}"})
      EXPECT_FALSE(as_json.has(written(json_syntax, {{.name = "f", .arguments = other}}))) << other;

    ToolSyntax tagged = json_syntax;
    tagged.form = ToolSyntax::Form::kTagged;
    tagged.key_open = "<k>";
    tagged.key_close = "</k>";
    tagged.value_close = "</p>";
    const Language as_tags(tagged, spec({.use = ToolUse::kRequired}, tools));
    ASSERT_EQ(as_tags.error(), "");
    const auto call = [&](std::string_view arguments) {
      return fmt::format("{}{}f{}{}{}{}", tagged.begin, tagged.open, tagged.middle, arguments,
                         tagged.close, tagged.end);
    };
    EXPECT_TRUE(as_tags.has(call("<k>a</k>1</p>")));
    EXPECT_FALSE(as_tags.has(call("")));
    EXPECT_FALSE(as_tags.has(call("<k>q</k>x</p>")));
  }
}

TEST(ToolSchemas, ArgumentsAreObjects) {
  const auto schema = [](std::string_view parameters, bool strict = true) {
    const auto tools = callable_tools(
        spec({.use = strict ? ToolUse::kRequired : ToolUse::kAuto},
             fmt::format(R"([{{"type":"function","function":{{"name":"f","parameters":{}}}}}])",
                         parameters)));
    return tools ? json::serialize(tools->at(0).schema) : tools.error().message;
  };
  EXPECT_EQ(schema("null"), R"({"type":"object","properties":{}})");
  EXPECT_EQ(schema("true"), R"({"type":"object"})");
  EXPECT_EQ(schema("{}"), "{}");
  EXPECT_EQ(schema(R"({"type":["null","object"]})"), R"({"type":["null","object"]})");
  EXPECT_EQ(schema(R"({"type":null})"), "{}");
  // Beside $ref the type has no effect in some drafts.
  EXPECT_EQ(schema(R"({"$ref":"#/$defs/x","type":"null"})"),
            R"({"$ref":"#/$defs/x","type":"null"})");
  EXPECT_EQ(schema(R"({"type":"string"})"),
            "tools[0].function.parameters: its type is not object, and arguments are objects");
  EXPECT_EQ(schema("[]"),
            "tools[0].function.parameters: it is no JSON Schema of an object, which arguments are");
  EXPECT_EQ(schema("[]", false), R"({"type":"object"})");
}

TEST(ToolSchemas, OnlyOptionalCallsMayGoUnenforced) {
  constexpr std::string_view kStrict =
      R"([{"type":"function","function":{"name":"f","strict":true}}])";
  EXPECT_TRUE(may_go_unenforced(spec({})));
  EXPECT_FALSE(may_go_unenforced(spec({}, kStrict)));
  EXPECT_FALSE(may_go_unenforced(spec({.use = ToolUse::kRequired})));
  EXPECT_FALSE(may_go_unenforced({.kind = llm::StructureSpec::Kind::kRegex, .text = "a"}));
}

}  // namespace
}  // namespace windrow::engine
