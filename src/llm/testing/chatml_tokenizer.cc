#include "llm/testing/chatml_tokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <cstddef>
#include <optional>
#include <utility>

#include "base/utf8.h"
#include "chat/call_reader.h"
#include "chat/marks.h"
#include "chat/reasoning.h"
#include "chat/tool_call_stream.h"
#include "chat/tool_syntax.h"

namespace windrow::llm::testing {
namespace {

struct Control {
  int32_t token;
  std::string_view name;
};
constexpr std::array<Control, 3> kControls{
    Control{ChatmlTokenizer::kMessage, "<|im_start|>"},
    Control{ChatmlTokenizer::kEnd, "<|im_end|>"},
    Control{ChatmlTokenizer::kEndOfText, "<|endoftext|>"},
};
constexpr std::string_view kNoThoughts = "<think>\n\n</think>\n\n";

std::string_view text_member(const boost::json::object& object, std::string_view name) {
  const boost::json::value* value = object.if_contains(name);
  if (value == nullptr || !value->is_string()) return {};
  return value->get_string();
}

// The text that a template writes, and its tokens: a name of a control token counts only where the
// template wrote it.
class Writer {
 public:
  explicit Writer(const ChatmlTokenizer& tokenizer) : tokenizer_(tokenizer) {}

  void write(std::string_view text, bool control) {
    text_ += text;
    const std::vector<int32_t> more = tokenizer_.encode(text, control, llm::SpecialTokens::kNone);
    tokens_.insert(tokens_.end(), more.begin(), more.end());
  }

  llm::RenderedChat take() { return {.text = std::move(text_), .tokens = std::move(tokens_)}; }

 private:
  const ChatmlTokenizer& tokenizer_;
  std::string text_;
  std::vector<int32_t> tokens_;
};

bool thinks(const llm::Chat& chat) {
  const boost::json::value* value = chat.template_arguments.if_contains("enable_thinking");
  if (value == nullptr) value = chat.wishes.if_contains("enable_thinking");
  return value == nullptr || !value->is_bool() || value->get_bool();
}

std::string calls_of(const boost::json::object& message) {
  const boost::json::value* calls = message.if_contains("tool_calls");
  if (calls == nullptr || !calls->is_array() || calls->get_array().empty()) return {};
  std::vector<chat::WrittenCall> written;
  for (const boost::json::value& call : calls->get_array()) {
    const boost::json::object& function = call.at("function").as_object();
    const boost::json::value* arguments = function.if_contains("arguments");
    std::string text = "{}";
    if (arguments != nullptr)
      text = arguments->is_string() ? std::string(arguments->get_string())
                                    : boost::json::serialize(*arguments);
    written.push_back({std::string(text_member(function, "name")), std::move(text)});
  }
  return chat::write_calls(chat::generic_tool_syntax(), written);
}

void write_message(const boost::json::object& message, bool thinking, Writer& writer) {
  const std::string_view role = text_member(message, "role");
  writer.write(fmt::format("<|im_start|>{}\n", role), true);
  const std::string_view content = text_member(message, "content");
  if (role == "assistant") {
    const std::string_view thoughts = text_member(message, "reasoning_content");
    if (!thoughts.empty()) {
      writer.write(fmt::format("<think>\n{}\n</think>\n\n", thoughts), false);
    } else if (!thinking) {
      writer.write(kNoThoughts, false);
    }
    writer.write(content, false);
    const std::string calls = calls_of(message);
    if (!calls.empty() && !content.empty()) writer.write("\n", false);
    writer.write(calls, false);
  } else {
    writer.write(content, false);
  }
  writer.write("<|im_end|>\n", true);
}

std::optional<llm::Failure> write_messages(const llm::Chat& chat, Writer& writer) {
  for (size_t i = 0; i < chat.messages.size(); ++i) {
    const boost::json::object& message = chat.messages[i].as_object();
    const std::string_view role = text_member(message, "role");
    if (role != "system" && role != "user" && role != "assistant" && role != "tool") {
      return llm::Failure{.code = "chat_template_refused",
                          .message = fmt::format("the chat template has no role \"{}\"", role),
                          .param = fmt::format("messages[{}].role", i)};
    }
    write_message(message, thinks(chat), writer);
  }
  return std::nullopt;
}

void ask(const llm::Chat& chat, Writer& writer) {
  writer.write("<|im_start|>assistant\n", true);
  if (!thinks(chat)) writer.write(kNoThoughts, false);
}

// What a reader needs of the chat and its prompt.
struct ReaderRules {
  chat::ReasoningFormat reasoning;
  std::string prompt_end;
  std::shared_ptr<const chat::ToolContext> tools;  // null: there are none
  llm::ReadingOptions options;
};

class Reader final : public llm::AnswerReader {
 public:
  Reader(const ChatmlTokenizer& tokenizer, ReaderRules rules)
      : tokenizer_(tokenizer),
        rules_(std::move(rules)),
        reasoning_(rules_.reasoning, rules_.prompt_end) {
    if (rules_.tools) calls_.emplace(rules_.tools);
  }

  std::vector<llm::Delta> take(std::span<const int32_t> tokens) override {
    for (const int32_t token : tokens) {
      if (over_) break;
      add(token);
    }
    size_t settled = bytes_.size();
    if (!over_)
      for (const std::string& stop : rules_.options.stop)
        settled = std::min(settled, bytes_.size() - chat::partial_suffix(bytes_, stop));
    std::string_view text = std::string_view(bytes_).substr(0, settled);
    text.remove_suffix(utf8_incomplete_tail(text));
    if (text.size() <= read_) return {};

    llm::Delta delta;
    chat::ReasoningStream::Delta more = reasoning_.take(utf8_repair(text.substr(read_)));
    read_ = text.size();
    delta.reasoning = std::move(more.reasoning);
    if (!calls_) {
      delta.text = std::move(more.content);
    } else {
      for (chat::ToolCallStream::Delta& piece : calls_->take(more.content))
        delta.text += piece.content;  // calls are told at the end
    }
    if (delta.text.empty() && delta.reasoning.empty()) return {};
    told_text_ += delta.text.size();
    told_reasoning_ += delta.reasoning.size();
    return {std::move(delta)};
  }

  End end(llm::FinishReason reason) override {
    llm::Choice choice;
    const std::string whole = utf8_repair(bytes_);
    chat::SplitAnswer split = chat::split_reasoning(rules_.reasoning, rules_.prompt_end, whole);
    choice.reasoning = std::move(split.reasoning);
    choice.text = std::move(split.content);
    choice.finish_reason = reason;
    if (rules_.tools) {
      chat::CallsOfAnswer calls = chat::split_calls(rules_.tools, choice.text);
      choice.text = std::move(calls.content);
      for (chat::WrittenCall& call : calls.calls) {
        choice.tool_calls.push_back(
            {.id = fmt::format("call_{:012x}{:012x}", rules_.options.seed & 0xFFFFFFFFFFFF,
                               choice.tool_calls.size()),
             .name = std::move(call.name),
             .arguments = std::move(call.arguments)});
      }
      if (!choice.tool_calls.empty() && reason == llm::FinishReason::kStop && calls.all_whole)
        choice.finish_reason = llm::FinishReason::kToolCalls;
    }
    choice.stopped_by = stopped_by_;
    choice.stopped_by_token = stopped_by_token_;

    llm::Delta last;
    last.text = choice.text.substr(told_text_);
    if (choice.reasoning) last.reasoning = choice.reasoning->substr(told_reasoning_);
    for (const llm::ToolCall& call : choice.tool_calls) {
      last.tool_calls.push_back({.index = static_cast<int32_t>(last.tool_calls.size()),
                                 .id = call.id,
                                 .name = call.name,
                                 .arguments = call.arguments});
    }
    last.finish_reason = choice.finish_reason;
    last.stopped_by = choice.stopped_by;
    last.stopped_by_token = choice.stopped_by_token;
    const auto reasoning_tokens = static_cast<int32_t>(
        tokenizer_.encode(choice.reasoning.value_or(""), false, llm::SpecialTokens::kNone).size());
    return {
        .last = std::move(last), .choice = std::move(choice), .reasoning_tokens = reasoning_tokens};
  }

 private:
  void add(int32_t token) {
    if (std::ranges::find(rules_.options.stop_tokens, token) != rules_.options.stop_tokens.end()) {
      stopped_by_token_ = token;
      over_ = true;
      return;
    }
    if (token < 0 || token >= tokenizer_.vocabulary_size() || tokenizer_.is_control(token)) return;
    tokenizer_.append_piece(token, bytes_);
    // The text ends before the first stop text.
    for (const std::string& stop : rules_.options.stop) {
      if (!bytes_.ends_with(stop)) continue;
      bytes_.resize(bytes_.size() - stop.size());
      stopped_by_ = stop;
      over_ = true;
      return;
    }
  }

  const ChatmlTokenizer& tokenizer_;
  const ReaderRules rules_;
  chat::ReasoningStream reasoning_;
  std::optional<chat::ToolCallStream> calls_;
  std::string bytes_;  // of the answer, up to where it stopped
  bool over_ = false;
  std::optional<std::string> stopped_by_;
  std::optional<int32_t> stopped_by_token_;
  size_t read_ = 0;  // bytes that reasoning_ has had
  size_t told_text_ = 0;
  size_t told_reasoning_ = 0;
};

}  // namespace

std::vector<int32_t> ChatmlTokenizer::encode(std::string_view text, bool control,
                                             llm::SpecialTokens) const {
  std::vector<int32_t> tokens;
  while (!text.empty()) {
    const Control* named = nullptr;
    if (control)
      for (const Control& candidate : kControls)
        if (text.starts_with(candidate.name)) named = &candidate;
    if (named != nullptr) {
      tokens.push_back(named->token);
      text.remove_prefix(named->name.size());
    } else if (text.starts_with("zz")) {
      tokens.push_back(kPair);
      text.remove_prefix(2);
    } else {
      tokens.push_back(static_cast<unsigned char>(text.front()));
      text.remove_prefix(1);
    }
  }
  return tokens;
}

void ChatmlTokenizer::append_piece(int32_t token, std::string& bytes) const {
  for (const Control& control : kControls) {
    if (token != control.token) continue;
    bytes += control.name;
    return;
  }
  if (token == kPair) {
    bytes += "zz";
  } else {
    bytes += static_cast<char>(token);
  }
}

std::variant<llm::RenderedChat, llm::Failure> ChatmlTokenizer::render(const llm::Chat& chat,
                                                                      bool asks_for_answer) const {
  Writer writer(*this);
  if (!chat.tools.empty()) {
    writer.write("<|im_start|>tools\n", true);
    writer.write(boost::json::serialize(chat.tools), false);
    writer.write("<|im_end|>\n", true);
  }
  if (std::optional<llm::Failure> failure = write_messages(chat, writer)) return *failure;
  if (asks_for_answer) ask(chat, writer);
  return writer.take();
}

std::variant<llm::AppendedTokens, llm::Failure> ChatmlTokenizer::append(
    const llm::SampledAnswer& answer, const llm::Chat& appended) const {
  const int32_t last = answer.tokens.empty() ? 0 : answer.tokens.back();
  Writer writer(*this);
  writer.write(last == kEnd ? "\n" : "<|im_end|>\n", true);
  if (std::optional<llm::Failure> failure = write_messages(appended, writer)) return *failure;
  ask(appended, writer);
  return llm::AppendedTokens{.tokens = writer.take().tokens, .drops_last = last == kEndOfText};
}

std::unique_ptr<llm::AnswerReader> ChatmlTokenizer::read_answer(const llm::Chat& chat,
                                                                std::span<const int32_t> prompt,
                                                                llm::ReadingOptions options) const {
  const auto prompt_end = prompt.last(std::min<size_t>(prompt.size(), 64));
  ReaderRules rules{.reasoning = {.kind = chat::ReasoningFormat::Kind::kTags,
                                  .open = "<think>",
                                  .close = "</think>"},
                    .prompt_end = llm::text_of(*this, prompt_end),
                    .tools = nullptr,
                    .options = std::move(options)};
  if (!chat.tools.empty()) {
    rules.tools = std::make_shared<const chat::ToolContext>(
        chat::ToolContext{.syntax = chat::generic_tool_syntax(),
                          .tools = chat::ToolTable(chat.tools),
                          .several = chat.tool_choice.parallel,
                          .at_begin_only = rules.options.structured});
  }
  return std::make_unique<Reader>(*this, std::move(rules));
}

}  // namespace windrow::llm::testing
