// From characters to bytes: an automaton over code points becomes one over the bytes of their UTF-8
// or of their spelling in a JSON string. Pure.
//
// A range of code points is cut where the bytes behind the first cannot all follow (Thompson's
// encoding, cut as in R. Cox, "Regular Expression Matching in the Wild", 2010); what may follow a
// first byte is shared between all states that go on in the same way.
#pragma once

#include "grammar/lexeme/range_dfa.h"

namespace windrow::grammar {

enum class Spelling : uint8_t {
  kUtf8,
  kJsonString,  // `"`, `\` and control characters escaped, as byte_dfa.h says
};

// `dfa` is minimal. So is the result: the states between characters differ as they did, those
// within a character have no edges in common with them, and are made once each. (In JSON strings a
// state behind a backslash may be a state between characters in disguise; that one may be double.)
RangeDfa spelled(const RangeDfa& dfa, Spelling spelling);

}  // namespace windrow::grammar
