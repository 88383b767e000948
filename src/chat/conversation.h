// Conversation: what a chat template is asked to write.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

namespace windrow::chat {

struct Conversation {
  // At least one; each with a `role`. Contents are strings, and the arguments of tool calls are
  // objects or the text of one, as the caller has them.
  const boost::json::array& messages;
  const boost::json::array& tools;
  const boost::json::object& arguments;  // the template's own switches, such as enable_thinking
};

}  // namespace windrow::chat
