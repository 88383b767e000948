// ChatTalk: the conversation of `windrow chat`, and what a typed line means. Pure.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace windrow::app {

enum class ChatLineKind : uint8_t {
  kNothing,   // blank
  kMessage,   // for the model
  kSystem,    // /system: replaces the system message; without a text it is left out
  kReset,     // /reset: the conversation starts over
  kHelp,      // /help
  kEnd,       // /exit
  kMistaken,  // another word with a slash: not sent, as it may be a slip
};

struct ChatLine {
  ChatLineKind kind = ChatLineKind::kNothing;
  std::string text;  // of a message or system message; the word that is mistaken

  friend bool operator==(const ChatLine&, const ChatLine&) = default;
};

// "//" at the start is for a message that begins with a slash.
ChatLine read_chat_line(std::string_view line);

// One line for each word that read_chat_line knows.
std::string_view chat_help();

class ChatTalk {
 public:
  explicit ChatTalk(std::string system) : system_(std::move(system)) {}

  void set_system(std::string system) { system_ = std::move(system); }

  // All but the system message is forgotten.
  void reset() { turns_.clear(); }

  void add_question(std::string text);

  // The answer to the last question, or as much of it as there was. The model does not see its own
  // reasoning again.
  void add_answer(std::string text);

  // The last question had no answer.
  void take_back_question();

  // A body of /v1/chat/completions: the model and the messages.
  boost::json::object body(std::string_view model) const;

 private:
  struct Turn {
    std::string_view role;
    std::string text;
  };

  std::string system_;  // empty: none
  std::vector<Turn> turns_;
};

}  // namespace windrow::app
