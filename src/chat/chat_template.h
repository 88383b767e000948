// ChatTemplate: what a model file says about how a conversation is written, and the text it makes
// of one. It adds to the template language (jinja/template.h) what every chat needs: the names a
// template expects, roles that count as the template's own text, and refusals where a template
// would silently leave out a part of what was asked.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "chat/reasoning.h"
#include "jinja/template.h"

namespace windrow::chat {

// Tokens of the vocabulary that templates ask for by name; empty when a model has none.
struct SpecialTokens {
  std::string begin;  // bos_token
  std::string end;    // eos_token
};

struct Conversation {
  const boost::json::array& messages;  // at least one; each with a `role`
  const boost::json::array& tools;
  const boost::json::object& arguments;  // the template's own switches, such as enable_thinking
};

// Immutable, cheap to copy; any number of threads may render at a time.
class ChatTemplate {
 public:
  // `source` is the template's text, or the name of one that is built in (`chatml`). kInvalid when
  // it cannot be parsed.
  static Result<ChatTemplate> make(std::string_view source, SpecialTokens tokens);

  // The prompt up to where the model begins to answer. `now_unix_s`: what a template that asks for
  // the date is told, in UTC. Errors, all of which are about this conversation:
  //   kInvalid      the template refuses it, in its own words
  //   kNotFound     the template has no place for something in it: tools, tool calls, a switch
  //   kNoSpace, kUnavailable  as jinja::Template::render
  Result<jinja::Rendered> render(const Conversation& conversation, int64_t now_unix_s) const;

  const ReasoningFormat& reasoning() const { return reasoning_; }

  // Whether what it makes of a conversation may change with the date.
  bool asks_for_date() const { return template_.mentions("strftime_now"); }

 private:
  ChatTemplate(jinja::Template parsed, SpecialTokens tokens);

  std::optional<Error> find_missing(const Conversation& conversation) const;
  boost::json::array messages_for(const Conversation& conversation) const;

  jinja::Template template_;
  SpecialTokens tokens_;
  ReasoningFormat reasoning_;
};

}  // namespace windrow::chat
