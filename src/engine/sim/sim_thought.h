// SimThought: what a simulated model makes of the tokens before: a number that stands for all of
// them, and as much of their form as it needs to end its sentences, strings and objects. Pure.
//
// Without a form an answer is common words until it is long enough, then its end. A form that a
// request asks for is kept by masks, not here; what is here makes such an answer short: strings
// close after a few words, lists after a few elements, and what may end ends. A user who asks for
// calls of tools (sim_calls.h) gets these, and nothing else.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/host/types.h"
#include "engine/sim/sim_options.h"
#include "engine/sim/sim_vocabulary.h"

namespace windrow::engine::sim {

// After one more token. Small: there is one for each token in the model's memory.
struct SimThought {
  uint64_t state = 0;    // of all tokens, in order
  int32_t said = 0;      // tokens of this turn; of a text without turns, of all
  int32_t length = 0;    // about how many there will be; 0: chance decides at each
  uint16_t depth = 0;    // of objects and lists
  bool in_head = false;  // behind <|im_start|>, where a turn says whose it is
  bool in_string = false;
  bool escaped = false;  // in a string, behind a backslash
  bool closed = false;   // an outermost object or list has just ended

  // Which of the tokens are the last message, if that is the user's and asks for calls; 0: none.
  int32_t tokens = 0;  // so far
  int32_t asked_begin = 0;
  int32_t asked_end = 0;
  uint8_t asked_letters = 0;  // of kCallWord have come; more than it has: it is not there
  bool at_role = false;       // right behind <|im_start|>
  bool of_user = false;
  bool of_assistant = false;
};

class SimMind {
 public:
  // `vocabulary` outlives it.
  SimMind(const SimVocabulary& vocabulary, const SimOptions& options);

  // Before any token.
  SimThought start() const;

  SimThought after(const SimThought& before, Token token) const;

  // What it would say next, after these tokens; `logits` has one place for each entry of the
  // vocabulary.
  void speak(const SimThought& thought, std::span<const Token> tokens,
             std::span<float> logits) const;

 private:
  void follow_turn(SimThought& thought, Token token) const;
  void call(const SimThought& thought, std::span<const Token> tokens,
            std::span<float> logits) const;
  void follow_form(SimThought& thought, char byte) const;
  void favour_ends(const SimThought& thought, bool enough, std::span<float> logits) const;

  const SimVocabulary& vocabulary_;
  const SimOptions options_;
  const Token user_;
  const Token assistant_;
  std::vector<float> base_;  // of the logits: what is said only where a form leaves no choice
};

}  // namespace windrow::engine::sim
