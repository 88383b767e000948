// Conversation: the input of a chat template. MessageForm: templates differ in what they accept as
// the content of a message that only calls tools, as the arguments and the id of a call, in how
// many calls a message may have, and in whether a message may have a name. This writes the same
// messages in the form that one of them accepts. Pure.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <string>
#include <vector>

namespace windrow::chat {

struct Conversation {
  // At least one; each with a `role`. Contents are strings; the arguments of tool calls are objects
  // or the text of one.
  const boost::json::array& messages;
  const boost::json::array& tools;
  const boost::json::object& arguments;  // the template's own switches, such as enable_thinking
  bool asks_for_answer = true;           // the prompt ends with what opens an answer
};

struct MessageForm {
  bool arguments_as_text = false;  // else as the object that the text stands for
  bool content_as_null = false;    // else an empty text, beside tool calls
  bool short_ids = false;          // nine letters and digits, numbered; else as they are
  bool one_call_each = false;      // one call per message, followed by its result
  bool names_in_content = false;   // "ann: hi", except for assistants and tools

  friend bool operator==(const MessageForm&, const MessageForm&) = default;
};

// The forms in which these messages differ, in the order in which to try them. Never empty.
std::vector<MessageForm> forms_of(const boost::json::array& messages);

// Whether a prompt must contain the name of this message. Not for assistants, whom the role
// identifies, nor for results of tools, whose name is that of their call.
bool has_telling_name(const boost::json::value& message);

// The content of a message, after its name if it has_telling_name(): "ann: hi".
std::string named_content(const boost::json::value& message);

// The messages in this form. Arguments that were given as text keep their spelling.
boost::json::array in_form(boost::json::array messages, MessageForm form);

}  // namespace windrow::chat
