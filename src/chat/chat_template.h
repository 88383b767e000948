// ChatTemplate: what a model file says about how a conversation is written, and the text it makes
// of one. It adds to the template language (jinja/template.h) what every chat needs: the names a
// template expects, roles that count as the template's own text, and refusals where a template
// would silently leave out a part of what was asked.
#pragma once

#include <boost/json/array.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/result.h"
#include "chat/message_form.h"
#include "chat/reasoning.h"
#include "chat/template_probe.h"
#include "chat/tool_syntax.h"
#include "jinja/template.h"

namespace windrow::chat {

// Tokens of the vocabulary that templates ask for by name; empty when a model has none.
struct SpecialTokens {
  std::string begin;  // bos_token
  std::string end;    // eos_token
};

// Why a conversation cannot be written, and the field of the body that is at fault.
struct Unwritable {
  Error error;
  std::string field;  // "messages", "messages[1].content", "tools", "chat_template_kwargs.x", ...
};

// Immutable, cheap to copy; any number of threads may render at a time.
class ChatTemplate {
 public:
  // `source` is the template's text, or the name of one that is built in (`chatml`). kInvalid when
  // it cannot be parsed.
  static Result<ChatTemplate> make(std::string_view source, SpecialTokens tokens);

  // The prompt up to where the model begins to answer. `now_unix_s`: what a template that asks for
  // the date is told, in UTC. Messages are put into the form that the template takes; one that
  // knows nothing of tools gets messages that tell of them. Errors, all of which are about this
  // conversation:
  //   kInvalid      the template refuses it, in its own words
  //   kNotFound     the template has no place for something in it: a message, tools, a switch
  //   kNoSpace, kUnavailable  as jinja::Template::render
  std::variant<jinja::Rendered, Unwritable> render(const Conversation& conversation,
                                                   int64_t now_unix_s) const;

  const ReasoningFormat& reasoning() const { return reasoning_; }

  // How its model calls tools; one that knows none is told.
  const ToolSyntax& tool_syntax() const { return tool_syntax_; }

  // Whether an argument of this name may change what it makes.
  bool knows(std::string_view argument) const { return template_.mentions(argument); }

  // Whether what it makes of a conversation may change with the date.
  bool asks_for_date() const { return template_.mentions("strftime_now"); }

 private:
  ChatTemplate(jinja::Template parsed, SpecialTokens tokens);

  bool writes_calls() const;
  bool has_to_be_told(const Conversation& conversation) const;
  std::variant<jinja::Rendered, Unwritable> render_told(const Conversation& conversation,
                                                        int64_t now_unix_s) const;
  // `told_of`: the messages that the conversation's were made of (told_tools.h), for errors.
  std::variant<jinja::Rendered, Unwritable> render_known(
      const Conversation& conversation, int64_t now_unix_s,
      const boost::json::array* told_of = nullptr) const;
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
