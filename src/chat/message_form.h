// Templates agree neither on what stands for the content of a message that only calls tools nor on
// what the arguments and the id of a call are, nor on how many calls a message may have. The same
// messages, in the form that one of them takes. Pure.
#pragma once

#include <boost/json/array.hpp>
#include <vector>

namespace windrow::chat {

struct MessageForm {
  bool arguments_as_text = false;  // else as the object that the text stands for
  bool content_as_null = false;    // else an empty text, beside tool calls
  bool short_ids = false;          // nine letters and digits, by order; else as they are
  bool one_call_each = false;      // a message has one call, and its result behind it

  friend bool operator==(const MessageForm&, const MessageForm&) = default;
};

// Those in which these messages differ, in the order in which to try them.
std::vector<MessageForm> forms_of(const boost::json::array& messages);

// Text that was given as text stays as it was written.
boost::json::array in_form(boost::json::array messages, MessageForm form);

}  // namespace windrow::chat
