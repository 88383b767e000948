// Increment: the text that appended messages add behind an answer that was sampled. A conversation
// is then kept as tokens: those of its first prompt, those that were sampled, and of each increment
// what its text becomes; so the model sees exactly what it said itself, and nothing is tokenised
// twice. Pure; any thread.
//
// The template is rendered with a stand-in history that ends with one question and the answer,
// whose texts are unique words: what comes behind the answer's word is the increment, whatever the
// history is. That holds for templates that write each message where it stands. Two histories, a
// short one and a longer one, show it. A template that writes earlier messages differently once
// more follow (tools or the system's message beside the last question, for one) cannot be rendered
// in parts, and is refused. What a template changes within the answer's own turn, such as reasoning
// that it drops later, does not matter: the model's own tokens stand there.
//
// The junction. An answer ends with a token of the model's, and the template writes an end of the
// turn as well. They meet so:
//   the template writes the sampled token behind the answer   the increment begins behind it
//   it does not (GLM opens the next turn with the token that   the sampled token is dropped, and
//     ended this one; some models have several ends)             the increment is all there is
//   there was none: the answer was cut                         the increment closes the turn first
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <string_view>
#include <variant>
#include <vector>

#include "chat/chat_template.h"
#include "jinja/template.h"

namespace windrow::chat {

struct SampledTurn {
  // The assistant's message as the answer was read: its tool calls decide how the turn ends, and
  // results of tools may need their ids and names.
  const boost::json::object& message;

  // The text of the token that ended the answer, "<|im_end|>"; empty: it was cut, by a limit or a
  // stop text.
  std::string_view end_token;

  // Whether a message of the system is before it.
  bool has_system = false;
};

struct Increment {
  // As ChatTemplate::render gives them, so control tokens are known only in the template's text.
  std::vector<jinja::Segment> segments;

  // The sampled end token does not belong to the conversation as the template writes it.
  bool drops_end_token = false;

  friend bool operator==(const Increment&, const Increment&) = default;
};

// The increment of `appended.messages`, which follow `turn`. Errors name a field of the appended
// messages by its place among them:
//   kNotFound   the template does not use a part of them, or cannot be rendered in parts
//   the others of ChatTemplate::render
std::variant<Increment, Unwritable> increment_of(const ChatTemplate& chat_template,
                                                 const SampledTurn& turn,
                                                 const Conversation& appended, int64_t now_unix_s);

}  // namespace windrow::chat
