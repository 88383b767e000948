// ThoughtMasks: which tokens may come while an answer thinks or may begin to, for each place of a
// ReasoningGate. Made once for a vocabulary and a format; immutable, shared between threads.
//
// Thoughts are free, but they cannot be the end of an answer: tokens that end it are never in these
// masks. A token that would close the thoughts and go on with something else than line breaks is
// left out too, so what is said begins with a token of its own.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "chat/reasoning.h"
#include "engine/host/types.h"
#include "engine/structure/thought_gate.h"
#include "grammar/token_mask.h"

namespace windrow::engine {

class ThoughtMasks {
 public:
  // `texts`: what an answer's text shows of each token, in order; nothing of those that end it,
  // which are `end_tokens`. Behind the closing tag there may be line breaks, or none.
  ThoughtMasks(std::span<const std::string> texts, std::span<const Token> end_tokens,
               const chat::ReasoningFormat& format, bool breaks_behind = true);

  // Whether the vocabulary can write the marks; if not, an answer has no thoughts that could be
  // told from what is said.
  bool usable() const { return usable_; }

  // What may come there. Not for kSpeech. Of kOpening and kBetween: beside what may be said.
  const grammar::TokenMask& at(ReasoningGate::Part part, size_t progress) const;

  // Tokens that begin with a line break: as the first word said they would be taken for one.
  const grammar::TokenMask& begins_with_break() const { return begins_with_break_; }

 private:
  using Mask = grammar::TokenMask;

  void fill_opening(std::span<const std::string> texts, const std::vector<bool>& ends,
                    const chat::ReasoningFormat& format, size_t progress);

  bool usable_ = false;
  std::vector<Mask> opening_;   // by progress
  std::vector<Mask> thoughts_;  // by progress
  Mask breaks_;
  Mask begins_with_break_;
  Mask header_;
  Mask header_begin_;
  Mask message_;  // what ends a header
  Mask start_;    // what begins the next message
  Mask nothing_;
};

}  // namespace windrow::engine
