// Grammars written out and matched in the plainest way, to hold the recognizer to.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "base/result.h"
#include "grammar/grammar.h"

namespace windrow::grammar::testing {

struct ReferenceGrammar {
  enum class Kind : uint8_t { kText, kWords, kLoop, kSequence, kChoice, kRepeat, kRule };

  struct Part {
    Kind kind = Kind::kText;
    std::string text;                // a text; the bytes of a loop
    std::vector<std::string> words;  // one of these
    std::vector<size_t> children;
    uint32_t min = 0;
    std::optional<uint32_t> max;
  };

  std::vector<Part> parts;
  size_t root = 0;

  // Whether a text of at most 60 bytes is one of the grammar's: all ends of all parts from all
  // places, until there are no more.
  bool contains(std::string_view text) const;

  Result<std::shared_ptr<const Grammar>> build() const;

  std::string describe() const;
};

// Texts of the letters a and b; with rules, so maybe left recursive or without a text.
ReferenceGrammar random_grammar(Random& random);

// Any number of these bytes, also none.
std::shared_ptr<const ByteDfa> loop_dfa(std::string_view bytes);

}  // namespace windrow::grammar::testing
