// AnswerGuide: which tokens may come next in an answer that has a structure, and whether it is
// complete: reasoning by a ReasoningGate, and behind it the grammar of a Matcher. An answer that
// may call tools is free up to where a CallDetector finds a call.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "chat/reasoning.h"
#include "engine/host/types.h"
#include "engine/structure/call_detector.h"
#include "engine/structure/reasoning_gate.h"
#include "engine/structure/token_escapes.h"
#include "grammar/matcher.h"

namespace windrow::engine {

// What the answers of one request have to be. Immutable but for the masks that the grammar keeps;
// shared by the rows.
struct AnswerForm {
  std::shared_ptr<grammar::CompiledGrammar> grammar;
  std::shared_ptr<const ReasoningMasks> reasoning_masks;  // null: everything is said
  chat::ReasoningFormat reasoning;
  std::string prompt_end;

  // Jump-forward: texts without a choice are appended without asking the model.
  bool force = true;

  // The control tokens in the grammar.
  TokenEscapes escapes;

  // A text that each answer begins with and that the prompt may end with: then the grammar goes on
  // behind it, unless the answer begins with reasoning.
  std::string said_before;

  // Reasoning is closed after so many tokens. nullopt: it may take all there are.
  std::optional<int32_t> thought_tokens_max;

  // With one of these the grammar begins, and everything before it is free. Null: it holds from the
  // first word that is said.
  std::shared_ptr<const CallTriggers> call_triggers;
};

// Follows one answer. Used by one thread at a time.
class AnswerGuide {
 public:
  explicit AnswerGuide(std::shared_ptr<const AnswerForm> form);

  const AnswerForm& form() const { return *form_; }

  // Whether every token may come, so that no mask is needed.
  bool is_free() const { return free_ && !free_->mask(); }

  // The tokens that may come, found by visiting at most so many nodes of the vocabulary's trie.
  // Null: that did not suffice, and the next call goes on.
  std::shared_ptr<const grammar::TokenMask> mask_within(size_t nodes_max);

  // The answer goes on by a token and the text that it shows. False: the mask excludes the token.
  bool accept(Token token, std::string_view text);

  // Whether the text is complete, and whether no longer text begins with it, so that it has to end.
  bool can_end() const;
  bool must_end() const;

  // grammar::Matcher::bytes_behind_end: so many bytes at the end of the answer are not said.
  size_t bytes_behind_end() const { return matcher_.bytes_behind_end(); }

  // grammar::Matcher::too_complex.
  bool too_complex() const { return matcher_.too_complex(); }

  // When reasoning has used up its tokens: the text that closes it, with control tokens written
  // out. Empty: it may go on, or there is none.
  std::string closing_text() const;

  // The text that comes next in any case, with escapes; at most so many bytes.
  std::string forced_text(size_t bytes_max) const;

  // Whether the answer is over behind `text`, which comes next.
  bool ends_behind(std::string_view text) const;

  // `text` comes next: whether a token that begins so many bytes into it, and reaches beyond its
  // end, may come.
  bool may_cross_end(std::string_view text, size_t at) const;

  // How many bytes of the answer come before what is said, so far all of them. nullopt: that is not
  // known yet.
  std::optional<size_t> speech_begin() const;

  // The answer's text, which may be longer than what was accepted, as reasoning and content.
  chat::SplitAnswer split(std::string_view text) const;

 private:
  std::shared_ptr<const grammar::TokenMask> mask_beside_reasoning(
      const grammar::TokenMask& said) const;
  bool accept_opening(Token token, std::string_view text);
  void accept_free(Token token, std::string_view text);

  std::shared_ptr<const AnswerForm> form_;
  ReasoningGate gate_;
  int32_t thought_tokens_ = 0;
  grammar::Matcher matcher_;
  std::optional<CallDetector> free_;  // until a call begins

  // While the opening mark may be coming: the grammar also accepts everything that has come.
  bool may_be_said_ = true;
};

}  // namespace windrow::engine
