// For tests: random ways through a grammar, byte by byte.
#pragma once

#include <cstdint>
#include <string>

#include "base/random.h"
#include "grammar/matcher.h"

namespace windrow::grammar::testing {

struct Walk {
  enum class End : uint8_t {
    kText,   // `text` is one of the grammar's
    kStuck,  // nothing may follow `text`, and it is none: the grammar led nowhere
    kLong,   // no end in 20,000 bytes: only luck finds the word that a pattern wants
  };

  End end = End::kText;
  std::string text;
};

// So many random bytes, then towards an end.
Walk random_walk(Matcher matcher, Random& random, int bytes_free);

}  // namespace windrow::grammar::testing
