// ChatTemplate: renders conversations to prompts with the chat template of a model file. It adds to
// the template language (jinja/template.h) what every chat needs: the variables that templates
// expect, roles that count as the template's own text, and errors where a template would silently
// drop a part of the request.
#pragma once

#include <boost/json/array.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "chat/message_form.h"
#include "chat/reasoning.h"
#include "chat/template_probe.h"
#include "chat/tool_syntax.h"
#include "jinja/template.h"

namespace windrow::chat {

// Tokens of the vocabulary that templates refer to by name; empty if a model has none.
struct SpecialTokens {
  std::string begin;  // bos_token
  std::string end;    // eos_token
};

// Why a conversation cannot be rendered, and the field of the body that causes it.
struct Unwritable {
  Error error;
  std::string field;  // "messages", "messages[1].content", "tools", "chat_template_kwargs.x", ...

  friend bool operator==(const Unwritable&, const Unwritable&) = default;
};

// Immutable, cheap to copy; any thread.
class ChatTemplate {
 public:
  // `source` is the template's text, or the name of a built-in one (`chatml`). kInvalid: it cannot
  // be parsed.
  static Result<ChatTemplate> make(std::string_view source, SpecialTokens tokens);

  // The prompt, up to where the model begins to answer. `now_unix_s`: the time for templates that
  // write the date, in UTC. Messages are written in the form that the template accepts; tools are
  // described in a message if the template has no tools. All errors are about this conversation:
  //   kInvalid      the template raised an error; the message is its own
  //   kNotFound     the template does not use a part of it: a message, tools, a switch
  //   kNoSpace, kUnavailable  as jinja::Template::render
  std::variant<jinja::Rendered, Unwritable> render(const Conversation& conversation,
                                                   int64_t now_unix_s) const;

  const ReasoningFormat& reasoning() const { return reasoning_; }

  // How its model writes calls of tools; a generic syntax if the template has no tools.
  const ToolSyntax& tool_syntax() const { return tool_syntax_; }

  // Whether an argument of this name may change the prompt.
  bool knows(std::string_view argument) const { return template_.mentions(argument); }

  const std::string& source() const { return template_.source(); }

  // As jinja::Template::texts().
  std::vector<std::string> texts() const { return template_.texts(); }

  // Whether the prompt of a conversation may change with the date.
  bool asks_for_date() const { return template_.mentions("strftime_now"); }

 private:
  ChatTemplate(jinja::Template parsed, SpecialTokens tokens);

  bool writes_calls() const;
  bool needs_fallback(const Conversation& conversation) const;
  std::variant<jinja::Rendered, Unwritable> render_with_fallback(const Conversation& conversation,
                                                                 int64_t now_unix_s) const;
  // `source`: the messages from which those of the conversation were made (tool_prompt_fallback.h),
  // for errors.
  std::variant<jinja::Rendered, Unwritable> render_checked(
      const Conversation& conversation, int64_t now_unix_s,
      const boost::json::array* source = nullptr) const;
  std::optional<Unwritable> find_unmentioned(const Conversation& conversation) const;
  std::variant<MessageForm, Vanished> choose_form(const Conversation& conversation,
                                                  int64_t now_unix_s) const;
  Result<jinja::Rendered> render_as_given(const Conversation& conversation,
                                          boost::json::array messages, int64_t now_unix_s) const;

  jinja::Template template_;
  SpecialTokens tokens_;
  ReasoningFormat reasoning_;
  ToolSyntax tool_syntax_;
};

}  // namespace windrow::chat
