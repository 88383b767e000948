// Random languages of arrays whose scalar items may have to differ, as a grammar and as the list of
// all their texts.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "base/random.h"
#include "grammar/grammar.h"

namespace windrow::grammar::testing {

struct ArraysLanguage {
  std::shared_ptr<const Grammar> grammar;

  // All texts in which no run of `long_letter` is longer than `long_max`; longer ones are in the
  // grammar, too, if there are any.
  std::set<std::string> texts;

  static constexpr char kLongLetter = '3';
  static constexpr size_t kLongMax = 5;

  // Whether a text begins with these bytes.
  bool begins(std::string_view bytes) const {
    const auto found = texts.lower_bound(std::string(bytes));
    return found != texts.end() && found->starts_with(bytes);
  }
};

// Null if it has more than some thousand texts.
std::shared_ptr<const ArraysLanguage> random_arrays(Random& random);

}  // namespace windrow::grammar::testing
