// TextAutomata: the automata of one schema for patterns, formats and lengths, each made once. Used
// by one thread at a time.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "grammar/lexeme/char_dfa.h"
#include "grammar/lexeme/give_up.h"
#include "grammar/lexeme/text_lengths.h"
#include "grammar/schema/schema_node.h"

namespace windrow::grammar {

// The texts of an automaton that have so many characters. Lengths are counted beside it when a text
// is written (CountedDfa), and not built into it: that would multiply its states.
struct CountedTexts {
  CharDfa dfa;      // empty if no text has such a length
  CharCount count;  // allows all that the automaton has anyway

  bool empty() const { return dfa.empty(); }
  bool contains(std::string_view utf8) const;
};

class TextAutomata {
 public:
  // `give_up` outlives this.
  explicit TextAutomata(const GiveUp& give_up) : give_up_(give_up) {}

  // The texts in which the pattern is found. kInvalid, with a message for users: an unsupported
  // pattern. kUnavailable: `give_up` returned true.
  Result<const CharDfa*> pattern(const std::string& pattern);

  // The texts that fulfil all rules. A text that only some validators take for a format is neither
  // one of `formats` nor one of `formats_not`. kInvalid also: they need too many states, a format
  // that cannot be subtracted. kUnavailable: `give_up` returned true.
  Result<const CountedTexts*> texts(const StringRules& rules);

  // The same as one automaton, to join it with others. Only for small lengths: kInvalid also if
  // patterns and lengths together need too many states.
  Result<CharDfa> automaton(const StringRules& rules);

  // All texts but these: the undeclared names of an object. Objects with the same names share an
  // automaton. kInvalid: too many states. kUnavailable: as above.
  Result<CharDfa> all_but(std::vector<std::string_view> texts);

 private:
  Result<CountedTexts> join(const StringRules& rules);
  Result<CharDfa> wanted(const StringRules& rules);
  Result<void> subtract(const StringRules& rules, CharDfa& from);

  const GiveUp& give_up_;
  std::map<std::string, CharDfa, std::less<>> patterns_;
  std::map<std::string, CountedTexts, std::less<>> texts_;
  std::map<std::vector<std::string>, CharDfa> all_but_;
};

}  // namespace windrow::grammar
