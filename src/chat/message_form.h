// Templates agree neither on what stands for the content of a message that only calls tools nor on
// what the arguments of a call are. The same messages, in the form that one of them takes. Pure.
#pragma once

#include <boost/json/array.hpp>
#include <span>

namespace windrow::chat {

struct MessageForm {
  bool arguments_as_text = false;  // else as the object that the text stands for
  bool content_as_null = false;    // else an empty text, beside tool calls

  friend bool operator==(const MessageForm&, const MessageForm&) = default;
};

// Those in which these messages differ, in the order in which to try them.
std::span<const MessageForm> forms_of(const boost::json::array& messages);

// Text that was given as text stays as it was written.
boost::json::array in_form(boost::json::array messages, MessageForm form);

}  // namespace windrow::chat
