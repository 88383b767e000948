// TextAutomata: the automata of one schema for patterns, formats and lengths, each made once. Used
// by one thread at a time.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "grammar/lexeme/char_dfa.h"
#include "grammar/schema/schema_node.h"

namespace windrow::grammar {

class TextAutomata {
 public:
  // The texts in which the pattern is found. kInvalid, with a message for users: an unsupported
  // pattern.
  Result<const CharDfa*> pattern(const std::string& pattern);

  // The texts that fulfil all rules; an empty automaton if there are none. A text that only some
  // validators take for a format is neither one of `formats` nor one of `formats_not`. kInvalid
  // also: patterns and lengths together need too many states, a format that cannot be subtracted.
  Result<const CharDfa*> texts(const StringRules& rules);

 private:
  Result<CharDfa> join(const StringRules& rules);
  Result<CharDfa> wanted(const StringRules& rules);
  Result<void> subtract(const StringRules& rules, CharDfa& from);

  std::map<std::string, CharDfa, std::less<>> patterns_;
  std::map<std::string, CharDfa, std::less<>> texts_;
};

}  // namespace windrow::grammar
