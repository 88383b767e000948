// MaskWalk: finds the tokens that may follow in a state, by walking the vocabulary's tries with the
// recognizer. It can stop anywhere and continue later.
//
// A token that ends the text and continues with line breaks is allowed, too (Matcher::accept).
//
// Where there are many literal texts, as the names of a large object, the walk follows these
// themselves, without a state for each byte of them.
//
// If all plain characters may follow, whole subtrees of plain tokens are allowed at once, and
// inside a string all of them are a mask that is known beforehand (the slices of llguidance). If
// nearly all may follow, the walk begins with all of them and forbids the rest.
//
// With distinct lexemes, it also finds the tokens for which what is behind the first of them within
// the token may matter (distinct_mask.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "grammar/distinct_lexemes.h"
#include "grammar/recognizer.h"
#include "grammar/token_mask.h"
#include "grammar/token_tables.h"

namespace windrow::grammar {

// Used by one thread at a time, always with the same tables and recognizer.
class MaskWalk {
 public:
  // `begun`: there is some text already, so tokens of only line breaks may come after its end.
  // `distinct` outlives this; null in grammars without distinct lexemes.
  MaskWalk(const TokenTables& tables, Recognizer& recognizer, DistinctLexemes* distinct,
           StateId state, bool begun);

  // Looks at about `nodes_max` nodes. Returns whether the walk is complete.
  bool advance(Recognizer& recognizer, size_t nodes_max);

  // The mask, once the walk is complete. Only once.
  TokenMask take() { return std::move(mask_); }

  // Allowed tokens in which a distinct lexeme begins that may turn out to have been seen, or behind
  // which one must come that may be used up.
  std::vector<Token> take_at_risk() { return std::move(at_risk_); }

  // Appends pointers to the states it still needs, for Recognizer::keep_only.
  void list_states(std::vector<StateId*>& states);

 private:
  // Of the way to a node: whether a distinct lexeme begins on it; whether texts seen can forbid it.
  struct Risk {
    bool begun = false;
    bool at_risk = false;
  };

  // A subtree to walk: its root leads to `state`, or comes after the end of the text.
  struct Job {
    const TokenTrie* trie = nullptr;
    uint32_t node = 0;
    StateId state = 0;
    bool ended = false;  // line breaks may follow
    Risk risk;
    bool is_plain = false;
    bool forbids = false;      // all its tokens are allowed so far; the walk forbids dead ones
    uint8_t texts_before = 0;  // so many texts that were followed by themselves lead to it
  };

  // A place in a literal text, and what comes after the text.
  struct TextPlace {
    uint8_t byte = 0;  // before it
    TextTrie::Node place = 0;
    StackId stack = 0;
  };

  void limit_plain(const Recognizer& recognizer, const Position& lexeme);
  void add_plain_jobs(Recognizer& recognizer, StateId state, bool only_allow);
  bool follows_texts(const Recognizer& recognizer, const Job& job, StateId state) const;
  size_t follow_texts(Recognizer& recognizer, StateId state, const TokenTrie& trie, uint32_t node);
  size_t follow_places(Recognizer& recognizer, const TokenTrie& trie, uint32_t above, size_t from);
  void leave_texts(Recognizer& recognizer, const TokenTrie& trie, uint32_t node,
                   std::span<const TextPlace> places);
  void add_special_jobs(Recognizer& recognizer, StateId state, const TokenTrie& trie, bool begun);
  size_t begin(Recognizer& recognizer, const Job& job);
  StateId step(Recognizer& recognizer, const TokenTrie::Node& node);
  Risk risk_behind(Risk before, StateId from, uint8_t byte, StateId to);
  void add_at_risk(std::span<const Token> tokens);
  void allow(std::span<const Token> tokens);
  void forbid(std::span<const Token> tokens);

  const TokenTables& tables_;
  DistinctLexemes* const distinct_;
  TokenMask mask_;
  std::vector<Token> at_risk_;
  std::vector<Job> jobs_;   // the last one is in progress
  std::vector<Job> found_;  // by it
  std::vector<TextPlace> places_;
  bool begun_ = false;
  uint32_t at_ = 0;
  uint16_t depth_ = 0;           // of the last node that leads somewhere
  std::vector<StateId> states_;  // after each byte of the path to at_; may be kDead

  // Within names of members in any order no states are found, only nodes of the names.
  struct InName {
    TextTrie::Node node = TextTrie::kNone;  // kNone: it is not within names
    uint16_t found = 0;                     // the depth of the last state that was found
    uint8_t byte = 0;                       // of the path
  };
  std::vector<InName> names_;  // after each byte of the path; states_ has the last one found
  std::vector<bool> ended_;    // there, the text may have ended, with line breaks since
  std::vector<Risk> risks_;
};

}  // namespace windrow::grammar
