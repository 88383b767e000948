// ReasoningStream: split_reasoning for an answer that is told while it is made. Pure.
//
// Invariant: what it has told of the thoughts and of the content is how those of the whole answer
// begin, whatever follows. So it holds back what may be the beginning of a mark, whitespace that
// may turn out to end the thoughts, and what may be the header of a message.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "chat/reasoning.h"

namespace windrow::chat {

class ReasoningStream {
 public:
  // As of split_reasoning.
  ReasoningStream(ReasoningFormat format, std::string_view prompt);

  // More of both.
  struct More {
    std::string reasoning;
    std::string content;
  };

  // The answer goes on by whole characters.
  More take(std::string_view text);

  // Of the answer so far the last so many bytes may still become thoughts, content or neither.
  size_t held_bytes() const { return pending_.size() + (part_ == Part::kThoughts ? trailing_ : 0); }

 private:
  enum class Part : uint8_t {
    kOpening,   // tags: the opening mark may be coming
    kHeader,    // channels: up to <|message|>
    kThoughts,  // up to a closing mark
    kBetween,   // tags: line breaks behind the thoughts
    kContent,   // channels: up to the end of the message; else everything
  };

  bool go_on(More& more);
  bool open();
  bool read_header(More& more);
  bool read_message(More& more);
  bool skip_line_breaks();
  void think(std::string_view text, More& more);
  void say(std::string_view text, More& more);

  const ReasoningFormat format_;
  Part part_ = Part::kContent;
  bool opened_ = false;   // by the prompt
  bool thought_ = false;  // some thoughts were told
  bool said_ = false;     // some content was told
  bool ended_ = false;    // channels: a message has ended
  bool calls_ = false;    // channels: the present message calls a tool of the request
  std::string pending_;   // taken and not looked at for good
  std::string gap_;       // whitespace behind the thoughts so far: told if more follow
  size_t trailing_ = 0;   // so much of it ends what the present message has thought
};

}  // namespace windrow::chat
