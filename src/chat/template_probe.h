// TemplateProbe: finds out whether a template leaves out a part of a conversation. The conversation
// is rendered once more with a unique word in place of each content, name and argument; a word that
// is missing from the result stands for a part that the template would drop. Pure.
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

#include "chat/message_form.h"

namespace windrow::chat {

// A part of a request that a template leaves out of the prompt.
struct Vanished {
  std::string field;   // in the request body: "messages[1].content"
  std::string advice;  // how to avoid it, for the error message

  friend bool operator==(const Vanished&, const Vanished&) = default;
};

// The tools of a request.
Vanished vanished_tools();

class TemplateProbe {
 public:
  explicit TemplateProbe(const Conversation& conversation);

  // The messages to render. Roles, ids and empty values are unchanged, so that a template takes the
  // same branches. Unchanged, because a template may drop them: earlier reasoning, and the names of
  // assistants.
  const boost::json::array& messages() const { return messages_; }

  // The first part that `rendered` lacks; none if it has all of them.
  std::optional<Vanished> missing_from(std::string_view rendered) const;

 private:
  struct Witness {
    std::string word;
    Vanished vanished;
  };

  void replace_texts(const std::string& field, boost::json::object& message);
  void replace_call(const std::string& field, boost::json::value& call);
  std::string add_word(Vanished vanished);

  boost::json::array messages_;
  std::map<std::string, std::string, std::less<>> word_of_function_;
  std::vector<Witness> witnesses_;
};

}  // namespace windrow::chat
