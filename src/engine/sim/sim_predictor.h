// SimPredictor: what a simulated model says next, by a state that stands for all tokens before: a
// hash, and as much of their form as is needed to end sentences, strings and objects. Pure.
//
// Without a structure an answer is common words until it is long enough, then its end. A structure
// is kept by masks, not here; this code makes such an answer short: strings close after a few
// words, lists after a few elements, and what may end ends.
//
// So that clients of tools can be tried, a user may ask for calls. The last message of the user is
// then
//
//   call NAME {"a": 1}
//   call OTHER
//
// and each line becomes one call, and nothing else is said. The text behind a name is written as
// models write calls, with a blank behind each comma and colon, as far as the tool and its schema
// allow it; text that is no JSON is written as it is.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/host/types.h"
#include "engine/sim/sim_options.h"
#include "engine/sim/sim_vocabulary.h"

namespace windrow::engine::sim {

// The state after a token. Small: there is one for each token in the model's memory.
struct SimState {
  uint64_t hash = 0;     // of all tokens, in order
  int32_t said = 0;      // tokens of this turn, or of all text without turns
  int32_t length = 0;    // about how many the turn will have; 0: chance decides at each token
  uint16_t depth = 0;    // nesting of objects and lists
  bool in_head = false;  // behind <|im_start|>, where a turn names its role
  bool in_string = false;
  bool escaped = false;  // in a string, behind a backslash
  bool closed = false;   // an outermost object or list has just ended

  // The range of tokens that is the last message, if the user asks for calls with it; 0: none.
  int32_t tokens = 0;  // number of tokens so far
  int32_t asked_begin = 0;
  int32_t asked_end = 0;
  uint8_t asked_letters =
      0;                 // bytes of kCallWord that came; more than it has: no call is asked for
  bool at_role = false;  // right behind <|im_start|>
  bool of_user = false;
  bool of_assistant = false;
};

// Const and thread-safe.
class SimPredictor {
 public:
  // `vocabulary` outlives it.
  SimPredictor(const SimVocabulary& vocabulary, const SimOptions& options);

  // The state before any token.
  SimState start() const;

  // The state after `before` and one more token.
  SimState after(const SimState& before, Token token) const;

  // Writes the logits of the next token, after `tokens`; one for each entry of the vocabulary.
  void predict(const SimState& state, std::span<const Token> tokens, std::span<float> logits) const;

 private:
  void follow_turn(SimState& state, Token token) const;
  void call(const SimState& state, std::span<const Token> tokens, std::span<float> logits) const;
  void follow_form(SimState& state, char byte) const;
  void favour_ends(const SimState& state, bool enough, std::span<float> logits) const;

  const SimVocabulary& vocabulary_;
  const SimOptions options_;
  const Token user_;
  const Token assistant_;
  std::vector<float> base_;  // logits of tokens that come only where a structure leaves no choice
};

// A message that asks for calls begins with this.
inline constexpr std::string_view kCallWord = "call ";

// The answer to such a message; empty when a line is something else.
std::string calls_asked_for(std::string_view message);

}  // namespace windrow::engine::sim
