// ReasoningGate: which part of an answer is thought and which is said, as its tokens come: a
// structure holds only for what is said. Pure; it sees texts, in which marks that are control
// tokens are written out (chat/reasoning.h).
//
//   kTags      [<think> thoughts </think> line breaks] speech
//   kChannels  (header <|message|> thoughts <|end|> <|start|>)* header <|message|> speech
//
// What comes first depends on how the prompt ends: the template may have opened the thoughts, or
// closed them. Where it did neither, the model may begin with the opening mark, or speak at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "chat/reasoning.h"

namespace windrow::engine {

class ReasoningGate {
 public:
  enum class Part : uint8_t {
    kOpening,   // the opening mark may be coming: so much of it is there as `progress` says
    kThoughts,  // so much of the closing mark may be there as `progress` says
    kBetween,   // behind the closing mark; `progress` bytes of line breaks have come
    kHeader,    // of a message, before <|message|>; 0: its channel has to be named
    kEnded,     // a message of thoughts has ended, the next begins with <|start|>
    kSpeech,
  };

  // More line breaks than these are not waited for, nor longer headers.
  static constexpr size_t kLineBreaksMax = 8;
  static constexpr size_t kHeaderMax = 96;

  // Everything is said.
  ReasoningGate() = default;

  // `prompt` is what was rendered; its end is enough.
  ReasoningGate(const chat::ReasoningFormat& format, std::string_view prompt);

  Part part() const { return part_; }
  size_t progress() const { return progress_; }

  // The answer goes on by the bytes of a token. Returns those that are said; while the opening
  // mark may be coming nothing is known to be, and then all of it may have been said.
  std::string_view take(std::string_view bytes);

  // So many bytes of the answer come before what is said, or are all there is.
  size_t speech_begin() const { return speech_begin_; }

  // How far into `mark` a text reaches that was so far into it, and how many of `bytes` that took:
  // fewer than all when the mark is complete.
  struct Found {
    size_t progress = 0;
    size_t bytes = 0;
  };
  static Found find(std::string_view mark, size_t progress, std::string_view bytes);

 private:
  std::string_view take_opening(std::string_view bytes);
  std::string_view take_thoughts(std::string_view bytes);
  std::string_view take_between(std::string_view bytes);
  std::string_view take_header(std::string_view bytes);
  std::string_view take_ended(std::string_view bytes);
  std::string_view speak(std::string_view bytes);
  void go_on(std::string_view& bytes, size_t count);
  void begin_message();

  chat::ReasoningFormat format_;
  Part part_ = Part::kSpeech;
  size_t progress_ = 0;
  size_t speech_begin_ = 0;
  std::string header_;
};

}  // namespace windrow::engine
