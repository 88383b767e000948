// Templates agree neither on what stands for the content of a message that only calls tools nor on
// what the arguments and the id of a call are, nor on how many calls a message may have, nor on
// whether a message has a name. The same messages, in the form that one of them takes. Pure.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/value.hpp>
#include <string>
#include <vector>

namespace windrow::chat {

struct MessageForm {
  bool arguments_as_text = false;  // else as the object that the text stands for
  bool content_as_null = false;    // else an empty text, beside tool calls
  bool short_ids = false;          // nine letters and digits, by order; else as they are
  bool one_call_each = false;      // a message has one call, and its result behind it
  bool names_in_content = false;   // "ann: hi", of all but assistants and tools

  friend bool operator==(const MessageForm&, const MessageForm&) = default;
};

// Lists the forms in which these messages differ, in the order in which to try them.
std::vector<MessageForm> forms_of(const boost::json::array& messages);

// Whether a template has to write the name of this message: assistants are told apart by the role,
// and the name of a tool's result is that of its call.
bool has_telling_name(const boost::json::value& message);

// "ann: hi": the content of a message, behind its name where it has a telling one.
std::string named_content(const boost::json::value& message);

// Text that was given as text stays as it was written.
boost::json::array in_form(boost::json::array messages, MessageForm form);

}  // namespace windrow::chat
