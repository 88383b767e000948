// What holds of plain characters (plain_facts.h) in the states of a Recognizer. With it, a mask
// takes whole groups of tokens without looking at each (mask_walk.h).
#pragma once

#include <cstdint>

#include "grammar/closure.h"
#include "grammar/plain_facts.h"

namespace windrow::grammar {

class Recognizer;
using StateId = uint32_t;

struct PlainState {
  // Bit i: after i bytes that complete a begun character, all plain characters continue the text.
  uint8_t free_after = 0;
  uint32_t free_chars = 0;  // at least so many plain characters may follow, whichever they are
  ByteKinds dangers = ByteKinds::all();  // any number of other kinds may follow
};

// Remembered by Recognizer::plain().
PlainState find_plain_state(Recognizer& recognizer, StateId state);

// Of all texts of plain characters, exactly those with at most `chars` characters continue here
// (Grammar::kUnbounded: all); and if no more than `reach` follow, the state after such a text is
// this one.
struct PlainLoop {
  bool is_one = false;  // else nothing is said
  uint32_t chars = 0;
  bool same_behind = false;
};
PlainLoop find_plain_loop(Recognizer& recognizer, StateId state, uint32_t reach);

// The one position whose lexeme plain characters continue in, if nothing after it takes any: which
// texts of them continue then depends on nothing else. Its automaton is not kTexts. Null if there
// is none. Valid until the next step of the recognizer.
const Position* find_plain_lexeme(Recognizer& recognizer, StateId state);

}  // namespace windrow::grammar
