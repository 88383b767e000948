// Witnesses: whether a template leaves out something of a conversation, found by asking it. The
// same conversation, with a word of its own in place of each content, name and argument, is
// rendered too; a word that is not there afterwards stands for something that would vanish. Pure.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chat/conversation.h"

namespace windrow::chat {

// A part of a request that a template leaves out of the prompt.
struct Vanished {
  std::string field;   // of the body: "messages[1].content"
  std::string advice;  // what to do about it

  friend bool operator==(const Vanished&, const Vanished&) = default;
};

// The tools of a request.
Vanished vanished_tools();

class Witnesses {
 public:
  explicit Witnesses(const Conversation& conversation);

  // Roles, ids and whatever is empty are as they were, so that a template goes the same way through
  // them; so are earlier reasoning, which templates leave out on purpose, and names of assistants,
  // which the role tells.
  const boost::json::array& messages() const { return messages_; }

  // The first that `rendered` lacks.
  std::optional<Vanished> missing_from(std::string_view rendered) const;

 private:
  struct Witness {
    std::string word;
    Vanished vanished;
  };

  void replace_texts(const std::string& place, boost::json::object& message);
  void replace_call(const std::string& place, boost::json::value& call);
  std::string add(Vanished vanished);  // a word

  boost::json::array messages_;
  std::map<std::string, std::string, std::less<>> called_;  // names of functions, and their words
  std::vector<Witness> all_;
};

}  // namespace windrow::chat
