// AnswerGuide: what may come next in an answer that has a structure, and whether it is whole: the
// thoughts of a ReasoningGate, and behind them the grammar of a Matcher. Of an answer that may call
// tools: all is free up to where a CallGate finds a call.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "chat/reasoning.h"
#include "engine/host/types.h"
#include "engine/structure/call_gate.h"
#include "engine/structure/spelled_marks.h"
#include "engine/structure/thought_gate.h"
#include "engine/structure/thought_masks.h"
#include "grammar/matcher.h"

namespace windrow::engine {

// What the answers of one request have to be. Immutable but for the masks that the grammar keeps;
// shared by the rows.
struct AnswerForm {
  std::shared_ptr<grammar::CompiledGrammar> grammar;
  std::shared_ptr<const ThoughtMasks> thought_masks;  // none: everything is said
  chat::ReasoningFormat reasoning;
  std::string prompt_end;

  // Runs that leave no choice are appended without asking the model.
  bool force = true;

  // Control tokens that the grammar spells.
  SpelledMarks marks;

  // What a grammar's text begins with and the prompt may have said already: then the grammar goes
  // on behind it, but for an answer that thinks first.
  std::string said_before;

  // Thoughts are closed after so many tokens; none: they may take all there is.
  std::optional<int32_t> thought_tokens_max;

  // With one of these the grammar begins, and all before it is free; none: it holds from the first
  // word that is said.
  std::shared_ptr<const CallMarks> call_marks;
};

// Used by one thread at a time.
class AnswerGuide {
 public:
  explicit AnswerGuide(std::shared_ptr<const AnswerForm> form);

  const AnswerForm& form() const { return *form_; }

  // Any token may come: there is no mask to look for.
  bool is_free() const { return free_ && !free_->mask(); }

  // Which tokens may come, looking at no more than so many nodes of the vocabulary's trie; nothing
  // where that did not suffice. The next call goes on.
  std::shared_ptr<const grammar::TokenMask> mask_within(size_t nodes_max);

  // The answer goes on by a token and what its text shows of it. False where the mask has it not.
  bool accept(Token token, std::string_view text);

  // The text is one of the structure's; or no longer one begins with it, so it is over.
  bool can_end() const;
  bool must_end() const;

  // grammar::Matcher::bytes_behind_end: the last so many bytes of the answer are not said.
  size_t bytes_behind_end() const { return matcher_.bytes_behind_end(); }

  // grammar::Matcher::too_complex.
  bool too_complex() const { return matcher_.too_complex(); }

  // The thoughts have had their tokens: what has to come next, with control tokens written out, so
  // that something is said. Empty: they may go on, or there are none.
  std::string closing_text() const;

  // What is said next in any case, control tokens spelled; at most so many bytes.
  std::string forced_text(size_t bytes_max) const;

  // Whether the answer is over behind `text`, which it has next.
  bool ends_behind(std::string_view text) const;

  // The answer has `text` next: whether a token may come so many bytes into it that reaches beyond
  // its end.
  bool may_cross_end(std::string_view text, size_t at) const;

  // So many bytes of the answer come before what is said, or are all there is; nothing while that
  // is not known.
  std::optional<size_t> speech_begin() const;

  // An answer's text, up to here or further: what was thought, and what was said.
  chat::SplitAnswer split(std::string_view text) const;

 private:
  std::shared_ptr<const grammar::TokenMask> beside_thoughts(const grammar::TokenMask& said) const;
  bool accept_opening(Token token, std::string_view text);
  void accept_free(Token token, std::string_view text);

  std::shared_ptr<const AnswerForm> form_;
  ReasoningGate gate_;
  int32_t thought_tokens_ = 0;
  grammar::Matcher matcher_;
  std::optional<CallGate> free_;  // until a call begins

  // While the opening mark may be coming: the grammar has all that has come, too.
  bool may_be_said_ = true;
};

}  // namespace windrow::engine
