// MaskWalk: finds the tokens that may follow in a state, by walking the vocabulary's tries with the
// recognizer. It can stop anywhere and go on later.
//
// A token that ends the text and goes on with line breaks is found, too (Matcher::accept).
//
// Where all plain characters go on, whole subtrees of plain tokens are taken at once, and inside a
// string all of them are a mask that is known beforehand (the slices of llguidance). Where nearly
// all go on, it begins with all of them and takes out what does not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "grammar/recognizer.h"
#include "grammar/token_mask.h"
#include "grammar/token_tables.h"

namespace windrow::grammar {

// Used by one thread at a time, always with the same tables and recognizer.
class MaskWalk {
 public:
  // `begun`: there is some text already, so tokens of line breaks alone may be behind its end.
  MaskWalk(const TokenTables& tables, Recognizer& recognizer, StateId state, bool begun);

  // Looks at about so many nodes; whether the walk is over.
  bool advance(Recognizer& recognizer, size_t nodes_max);

  // When it is over.
  TokenMask take() { return std::move(mask_); }

  // The states it will need, for Recognizer::keep_only.
  void list_states(std::vector<StateId*>& states);

 private:
  // A subtree whose root is alive in `state`, or behind the end of the text.
  struct Job {
    const TokenTrie* trie = nullptr;
    uint32_t node = 0;
    StateId state = 0;
    bool ended = false;  // line breaks may follow
    bool is_plain = false;
    bool takes_out = false;  // all is allowed so far; what is dead is taken out
  };

  void add_plain(Recognizer& recognizer, StateId state);
  void add_special(Recognizer& recognizer, StateId state, const TokenTrie& trie, bool begun);
  size_t begin(const Job& job);
  void allow(std::span<const Token> tokens);
  void forbid(std::span<const Token> tokens);

  const TokenTables& tables_;
  TokenMask mask_;
  std::vector<Job> jobs_;  // the last one is being done
  bool begun_ = false;
  uint32_t at_ = 0;
  uint16_t depth_ = 0;           // of the last node that was alive
  std::vector<StateId> states_;  // behind each byte of the way to at_; maybe kDead
  std::vector<bool> ended_;      // there: the text may have ended, and line breaks have come since
};

}  // namespace windrow::grammar
