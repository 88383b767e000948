// Calls that the templates of real models write are read back: the same names and arguments.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "chat/chat_template.h"
#include "chat/tool_call_stream.h"

namespace windrow::chat {
namespace {

namespace json = boost::json;
namespace fs = std::filesystem;

const json::array kTools = json::parse(R"([
    {"type": "function", "function": {"name": "forecast", "description": "Weather to come.",
      "parameters": {"type": "object", "properties": {
        "city": {"type": "string", "description": "where"},
        "days": {"type": "integer", "description": "how many"},
        "exact": {"type": "boolean", "description": "or about"},
        "of": {"type": "array", "description": "what", "items": {"type": "string"}}},
        "required": ["city"]}}},
    {"type": "function", "function": {"name": "forecast_now", "description": "Weather there is.",
      "parameters": {"type": "object", "properties": {
        "city": {"type": "string", "description": "where"}}, "required": ["city"]}}}])")
                               .as_array();

struct Written {
  ToolSyntax syntax;
  std::string text;  // behind what the user says
};

// The prompt of a conversation with calls of these tools, if the template can write it.
std::optional<Written> written_by(const fs::path& path, const std::vector<WrittenCall>& calls) {
  std::ifstream file(path);
  const auto chat = ChatTemplate::make(std::string(std::istreambuf_iterator(file), {}),
                                       {.begin = "<s>", .end = "</s>"});
  if (!chat) return std::nullopt;
  json::array messages = {{{"role", "user"}, {"content", "Whither?"}}};
  json::array made;
  json::array results;
  for (const WrittenCall& call : calls) {
    const std::string id = fmt::format("call_{:024}", made.size());
    made.push_back({{"id", id},
                    {"type", "function"},
                    {"function", {{"name", call.name}, {"arguments", call.arguments}}}});
    results.push_back({{"role", "tool"}, {"content", "sunny"}, {"tool_call_id", id}});
  }
  messages.push_back({{"role", "assistant"}, {"content", ""}, {"tool_calls", made}});
  messages.insert(messages.end(), results.begin(), results.end());
  const auto rendered =
      chat->render({.messages = messages, .tools = kTools, .arguments = {}}, 1'783'260'189);
  if (!std::holds_alternative<jinja::Rendered>(rendered)) return std::nullopt;
  const std::string text = std::get<jinja::Rendered>(rendered).text();
  return Written{.syntax = chat->tool_syntax(), .text = text.substr(text.rfind("Whither?") + 8)};
}

// The model's own part of it.
std::string answer_of(const Written& written) {
  const ToolSyntax& syntax = written.syntax;
  const std::string_view text = written.text;
  if (syntax.mark.starts_with("<|channel|>")) {
    constexpr std::string_view kTurn = "<|start|>assistant";
    const std::string_view turn = text.substr(text.find(kTurn) + kTurn.size());
    return split_reasoning({.kind = ReasoningFormat::Kind::kChannels, .open = {}, .close = {}}, "",
                           turn.substr(0, turn.find(syntax.close) + syntax.close.size()))
        .content;
  }
  return std::string(text.substr(text.find(syntax.mark.empty() ? syntax.open : syntax.mark)));
}

std::string shown(const std::vector<WrittenCall>& calls) {
  std::string text;
  for (const WrittenCall& call : calls) {
    boost::system::error_code error;
    const json::value arguments = json::parse(call.arguments, error);
    text += fmt::format("{}({})\n", call.name, error ? call.arguments : json::serialize(arguments));
  }
  return text;
}

// The templates of the corpus for which this holds, by name.
std::set<std::string> names_that_return(const std::vector<WrittenCall>& calls) {
  std::set<std::string> names;
  for (const fs::directory_entry& entry :
       fs::directory_iterator(WINDROW_SOURCE_DIR "/tests/templates/corpus")) {
    if (entry.path().extension() != ".jinja") continue;
    const std::optional<Written> written = written_by(entry.path(), calls);
    if (!written || written->syntax.form == ToolSyntax::Form::kNone) continue;
    const auto context = std::make_shared<const ToolContext>(
        ToolContext{.syntax = written->syntax, .tools = ToolTable(kTools)});
    const CallsOfAnswer read = split_calls(context, answer_of(*written));
    const std::string name = entry.path().stem();
    // For models that call one tool at a time, the first of their messages is read.
    const size_t wanted = written->syntax.several ? calls.size() : 1;
    EXPECT_EQ(shown(read.calls),
              shown(std::vector(calls.begin(), calls.begin() + static_cast<ptrdiff_t>(wanted))))
        << name << "\n"
        << written->text;
    EXPECT_TRUE(read.all_whole) << name;
    names.insert(name);
  }
  return names;
}

const std::string kArguments =
    R"({"city": "Bern \"upon\" <Aare>\n\u00e9", "days": 3, "exact": true})";

TEST(ToolRoundTrip, OneCallIsReadAsItWasWritten) {
  const std::set<std::string> names =
      names_that_return({{.name = "forecast", .arguments = kArguments}});
  for (const char* name : {"qwen2.5-7b",
                           "qwen3-0.6b",
                           "own-hermes-tools",
                           "granite-4.0",
                           "qwen3-coder",
                           "qwen3.5-4b",
                           "seed-oss",
                           "step-3.5-flash",
                           "own-llama-3.1-tools",
                           "mistral-nemo",
                           "mistral-small-3.2",
                           "devstral-small",
                           "ministral-3-reasoning",
                           "deepseek-r1-distill-qwen",
                           "deepseek-v3.1",
                           "gpt-oss",
                           "glm-4.6",
                           "glm-4.7-flash",
                           "minimax-m2",
                           "apriel-1.5",
                           "functionary-3.1",
                           "chatml",
                           "zephyr",
                           "phi-3",
                           "gemma-it",
                           "mistral-instruct",
                           "llama-2-chat"}) {
    EXPECT_TRUE(names.contains(name)) << name;
  }
}

TEST(ToolRoundTrip, SeveralCallsAreReadInTheirOrder) {
  const std::set<std::string> names =
      names_that_return({{.name = "forecast_now", .arguments = R"({"city": "Basel"})"},
                         {.name = "forecast", .arguments = R"({"city": "Bern"})"}});
  for (const char* name :
       {"qwen3-0.6b", "qwen3-coder", "mistral-nemo", "mistral-small-3.2", "gpt-oss",
        "own-llama-3.1-tools", "deepseek-v3.1", "glm-4.6", "minimax-m2", "chatml"}) {
    EXPECT_TRUE(names.contains(name)) << name;
  }
}

}  // namespace
}  // namespace windrow::chat
