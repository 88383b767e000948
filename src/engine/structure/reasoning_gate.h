// ReasoningGate: which part of an answer is reasoning and which is said, as its tokens arrive: a
// structure holds only for what is said. ReasoningMasks: which tokens may come in each state. Pure;
// both see texts in which marks that are control tokens are written out (chat/reasoning.h).
//
//   kTags      [<think> reasoning </think> line breaks] speech
//   kChannels  (header <|message|> reasoning <|end|> <|start|>)* header <|message|> speech
//
// The first state depends on how the prompt ends: the template may have opened the reasoning, or
// closed it. Where it did neither, the model may begin with the opening mark, or speak at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "chat/reasoning.h"
#include "engine/host/types.h"
#include "grammar/token_mask.h"

namespace windrow::engine {

// Follows one answer. Used by one thread at a time.
class ReasoningGate {
 public:
  enum class Part : uint8_t {
    kOpening,    // the opening mark may be coming; `progress` bytes of it are there
    kReasoning,  // `progress` bytes of the closing mark may be there
    kBetween,    // behind the closing mark; `progress` bytes of line breaks have come
    kHeader,     // of a message, before <|message|>; progress 0: its channel has to be named
    kEnded,      // a message of reasoning has ended, the next begins with <|start|>
    kSpeech,
  };

  // Limits for line breaks behind the closing mark, and for a header.
  static constexpr size_t kLineBreaksMax = 8;
  static constexpr size_t kHeaderMax = 96;

  // Everything is said.
  ReasoningGate() = default;

  // `prompt`: the rendered prompt, or its end.
  ReasoningGate(const chat::ReasoningFormat& format, std::string_view prompt);

  Part part() const { return part_; }
  size_t progress() const { return progress_; }

  // The answer goes on by the bytes of a token. Returns the bytes that are said: none while the
  // opening mark may be coming, and once it turns out to be none, only those of this call.
  std::string_view take(std::string_view bytes);

  // How many bytes of the answer come before what is said, so far all of them.
  size_t speech_begin() const { return speech_begin_; }

  // Searches for `mark` in `bytes`, of which `progress` bytes came before. Returns how far into the
  // mark the text is now, and how many of `bytes` were read: fewer than all when the mark is
  // complete.
  struct Found {
    size_t progress = 0;
    size_t bytes = 0;
  };
  static Found find(std::string_view mark, size_t progress, std::string_view bytes);

 private:
  std::string_view take_opening(std::string_view bytes);
  std::string_view take_reasoning(std::string_view bytes);
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

// Which tokens may come while an answer reasons or may begin to, for each state of a ReasoningGate.
// Made once for a vocabulary and a format; immutable, shared between threads.
//
// Reasoning is free, but it cannot be the end of an answer: tokens that end it are never in these
// masks. A token that would close the reasoning and go on with something else than line breaks is
// left out too, so what is said begins with a token of its own.
class ReasoningMasks {
 public:
  // `texts`: what an answer's text shows of each token, by token; empty for `end_tokens`, which end
  // it. `breaks_behind`: line breaks may follow the closing tag.
  ReasoningMasks(std::span<const std::string> texts, std::span<const Token> end_tokens,
                 const chat::ReasoningFormat& format, bool breaks_behind = true);

  // Whether the vocabulary can write the marks. If not, reasoning cannot be distinguished from what
  // is said.
  bool usable() const { return usable_; }

  // The tokens that may come in a state; for kOpening and kBetween besides those that may be said.
  // Not for kSpeech.
  const grammar::TokenMask& at(ReasoningGate::Part part, size_t progress) const;

  // Tokens that begin with a line break, which therefore cannot be the first word that is said.
  const grammar::TokenMask& begins_with_break() const { return begins_with_break_; }

 private:
  using Mask = grammar::TokenMask;

  void fill_opening(std::span<const std::string> texts, const std::vector<bool>& ends,
                    const chat::ReasoningFormat& format, size_t progress);

  bool usable_ = false;
  std::vector<Mask> opening_;    // by progress
  std::vector<Mask> reasoning_;  // by progress
  Mask breaks_;
  Mask begins_with_break_;
  Mask header_;
  Mask header_begin_;
  Mask message_;  // what ends a header
  Mask start_;    // what begins the next message
  Mask nothing_;
};

}  // namespace windrow::engine
